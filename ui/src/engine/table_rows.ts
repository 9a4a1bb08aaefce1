// The rows of the table that are in sight.

import { differenceOf } from "../model/difference";
import { FunctionTable } from "../model/functions";
import { orderFunctions } from "../model/table";
import { TableRequest, TableRow } from "./protocol";
import { View } from "./view";

// A row whose function is told by its number alone.
export type NumberedRow = Omit<TableRow, "func"> & { func: number };

// scales: of the sides, as the request's comparison has it. The view's selection is worked out.
// Cost: orders all functions when the order is another one than before.
export function tableRows(
  view: View,
  functions: FunctionTable,
  request: TableRequest,
  scales: number[],
  perSample: number,
): { rowCount: number; rows: NumberedRow[] } {
  const marks = view.selected?.functions ?? null;
  const { order, descending, matchesOnly } = request;
  const key = JSON.stringify([order, descending, matchesOnly, scales]);
  if (view.rows?.key !== key) {
    const only = matchesOnly ? marks : null;
    const ordered = orderFunctions(functions, view.sums(), { order, descending, only, scales });
    view.rows = { key, functions: ordered };
  }
  const noise = scales.map((scale) => perSample * scale);
  const sums = view.sums();
  const first = Math.max(request.first, 0);
  const shown = view.rows.functions.subarray(first, first + Math.max(request.count, 0));
  const rows = Array.from(shown, (func): NumberedRow => {
    const self = sums.self.map((values, side) => values[func] * scales[side]);
    const total = sums.total.map((values, side) => values[func] * scales[side]);
    const two = scales.length === 2;
    const selfDifference = two ? differenceOf(self[0], self[1], noise) : null;
    const totalDifference = two ? differenceOf(total[0], total[1], noise) : null;
    return {
      func,
      self,
      total,
      match: marks !== null && marks[func] === 1,
      isNew: totalDifference?.isNew ?? false,
      isGone: totalDifference?.isGone ?? false,
      selfWithinNoise: selfDifference?.withinNoise ?? false,
      totalWithinNoise: totalDifference?.withinNoise ?? false,
    };
  });
  return { rowCount: view.rows.functions.length, rows };
}
