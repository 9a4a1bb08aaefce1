// What unit tests use of Node 18, which Debian ships without type declarations.
declare module "node:test" {
  interface TestContext {
    test(name: string, body: (t: TestContext) => void | Promise<void>): Promise<void>;
    diagnostic(message: string): void;
    skip(message?: string): void;
  }
  type Body = (t: TestContext) => void | Promise<void>;
  interface Options {
    skip?: boolean | string;
    timeout?: number;
  }
  export function test(name: string, body: Body): Promise<void>;
  export function test(name: string, options: Options, body: Body): Promise<void>;
  export function it(name: string, body: Body): void;
  export function describe(name: string, body: () => void): void;
  export function before(body: () => void | Promise<void>): void;
  export function after(body: () => void | Promise<void>): void;
  export function beforeEach(body: () => void | Promise<void>): void;
  export function afterEach(body: () => void | Promise<void>): void;
  export default test;
}

declare module "node:assert/strict" {
  interface Assert {
    (value: unknown, message?: string): asserts value;
    ok(value: unknown, message?: string): asserts value;
    equal(actual: unknown, expected: unknown, message?: string): void;
    notEqual(actual: unknown, expected: unknown, message?: string): void;
    strictEqual(actual: unknown, expected: unknown, message?: string): void;
    deepEqual(actual: unknown, expected: unknown, message?: string): void;
    deepStrictEqual(actual: unknown, expected: unknown, message?: string): void;
    notDeepEqual(actual: unknown, expected: unknown, message?: string): void;
    match(text: string, pattern: RegExp, message?: string): void;
    doesNotMatch(text: string, pattern: RegExp, message?: string): void;
    throws(body: () => unknown, expected?: RegExp | object, message?: string): void;
    doesNotThrow(body: () => unknown, message?: string): void;
    rejects(body: Promise<unknown> | (() => Promise<unknown>), expected?: RegExp | object,
      message?: string): Promise<void>;
    fail(message?: string): never;
  }
  const assert: Assert;
  export default assert;
}
