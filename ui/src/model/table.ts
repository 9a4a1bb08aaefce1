// All functions of a tree as rows, in the order that is asked for.

import { orderByKeys } from "../base/sort";
import { FunctionTable } from "./functions";
import { TableOrder } from "./nouns";
import { FunctionSums } from "./tree";

export interface TableOptions {
  order: TableOrder;
  descending: boolean;
  only: Uint8Array | null; // by function: those that are listed; null = all
  scales: number[]; // of the sides
}

// The functions that are in the tree, the root left out, in order; equal ones alphabetically.
export function orderFunctions(
  functions: FunctionTable,
  sums: FunctionSums,
  options: TableOptions,
): Int32Array {
  const listed = listFunctions(functions, sums, options.only);
  const sign = options.descending ? -1 : 1;
  const keys = new Float64Array(listed.length);
  const key = keyOf(functions, sums, options);
  for (let i = 0; i < listed.length; ++i) keys[i] = sign * key(listed[i]);
  const order = orderByKeys(keys);
  const rows = new Int32Array(listed.length);
  for (let i = 0; i < order.length; ++i) rows[i] = listed[order[i]];
  return rows;
}

function listFunctions(
  functions: FunctionTable,
  sums: FunctionSums,
  only: Uint8Array | null,
): Int32Array {
  const ranks = functions.ranks();
  const byRank = new Int32Array(ranks.length);
  for (let func = 0; func < ranks.length; ++func) byRank[ranks[func]] = func;
  let count = 0;
  for (const func of byRank) {
    if (func === 0 || sums.instances[func] === 0 || (only !== null && only[func] === 0)) continue;
    byRank[count++] = func;
  }
  return byRank.subarray(0, count);
}

function keyOf(
  functions: FunctionTable,
  sums: FunctionSums,
  options: TableOptions,
): (func: number) => number {
  const { self, total } = sums;
  const { scales, order } = options;
  const last = scales.length - 1; // what is sorted by in a comparison is the side after
  const difference = (values: Float64Array[], func: number): number =>
    values[last][func] * scales[last] - values[0][func] * scales[0];
  switch (order) {
    case "name": {
      const ranks = functions.ranks();
      return (func) => ranks[func];
    }
    case "image": {
      const ranks = rankStrings(functions);
      return (func) => ranks[functions.imageString(func)];
    }
    case "self":
      return (func) => self[last][func] * scales[last];
    case "total":
      return (func) => total[last][func] * scales[last];
    case "selfDiff":
      return (func) => Math.abs(difference(self, func));
    case "totalDiff":
      return (func) => Math.abs(difference(total, func));
    case "selfSigned":
      return (func) => difference(self, func);
    case "totalSigned":
      return (func) => difference(total, func);
  }
}

// The alphabetical rank of each string that is an image.
function rankStrings(functions: FunctionTable): Int32Array {
  const images = [...new Set(functions.columns.image)];
  const names = images.map((image) => functions.strings.at(image));
  const order = Array.from(images.keys()).sort((a, b) =>
    names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : 0,
  );
  const ranks = new Int32Array(functions.strings.count);
  order.forEach((index, rank) => (ranks[images[index]] = rank));
  return ranks;
}
