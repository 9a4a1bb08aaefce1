// Transforms by the names of functions (as addresses have them) to those by their numbers.
import type { Engine, Transform } from "../engine/protocol";
import type { Functions } from "./scene";
import type { FunctionName, NamedTransform } from "./view_state";

export async function numberOf(
  engine: Engine,
  functions: Functions,
  on: FunctionName,
): Promise<number | null> {
  return functions.named(on.name, on.image) ?? (await engine.functionNamed(on.name, on.image));
}

// null = a function of it is not in this profile.
export async function resolveTransform(
  engine: Engine,
  functions: Functions,
  transform: NamedTransform,
): Promise<Transform | null> {
  switch (transform.kind) {
    case "foldChains":
    case "collapseLibrary":
      return transform;
    case "focusNode": {
      const path: number[] = [];
      for (const step of transform.path) {
        const func = await numberOf(engine, functions, step);
        if (func === null) {
          return null;
        }
        path.push(func);
      }
      return { kind: "focusNode", path };
    }
    case "collapseRecursion": {
      if (transform.on === null) {
        return { kind: "collapseRecursion", func: null };
      }
      const func = await numberOf(engine, functions, transform.on);
      return func === null ? null : { kind: "collapseRecursion", func };
    }
    default: {
      const func = await numberOf(engine, functions, transform.on);
      return func === null ? null : { kind: transform.kind, func };
    }
  }
}
