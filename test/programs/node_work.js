// Node workload: node node_work.js [SECONDS]. JSON, sorting and gzip.
const zlib = require("zlib");

function buildRows(count) {
  const rows = [];
  for (let i = 0; i < count; i++) rows.push({ name: `row ${(i * 7919) % count}`, value: i });
  return rows;
}

function serve(seconds) {
  const end = Date.now() + seconds * 1000;
  const rows = buildRows(2000);
  let turns = 0;
  while (Date.now() < end) {
    const text = JSON.stringify(rows);
    const back = JSON.parse(text);
    back.sort((a, b) => (a.name < b.name ? -1 : 1));
    turns += zlib.gzipSync(text).length > 0 ? back.length : 0;
  }
  return turns;
}

console.log(serve(Number(process.argv[2] || 3)));
