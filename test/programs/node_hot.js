// Two hot functions of known lines: node node_hot.js SECONDS.
function hotEven(rounds) {
  let sum = 0;
  for (let i = 0; i < rounds; i++) sum = (sum * 13 + i) | 0;
  return sum;
}

function hotOdd(rounds) {
  let sum = 1;
  for (let i = 0; i < rounds; i++) sum = (sum * 17 ^ i) | 0;
  return sum;
}

const end = Date.now() + Number(process.argv[2] || 3) * 1000;
let total = 0;
while (Date.now() < end) total += hotEven(200000) + hotOdd(200000);
console.log(total);
