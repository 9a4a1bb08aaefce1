// Times of single frames, in the browser's own book of measures.

const KEPT = 4000; // that book only grows

let count = 0;

export function measureFrame(started: number): void {
  if (++count > KEPT) {
    performance.clearMeasures("vesta:frame");
    count = 0;
  }
  performance.measure("vesta:frame", { start: started, end: performance.now() });
}
