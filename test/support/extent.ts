/** The variable that, with `1`, runs long tests to their end. */
export const WHOLE = 'PATCHBAY_WHOLE'

/** Pattern of the files that the suite leaves out: only `bun run test --whole` and `bun run soak` run them. */
export const LONG_FILES = '**/*.long.test.ts'

const whole = process.env[WHOLE] === '1'

/** Selects the extent of a long test: `core` in the suite, `all` with PATCHBAY_WHOLE=1. */
export function extent<T>(core: T, all: T): T {
  return whole ? all : core
}

/** Defines tests that the suite does not run: the remainder of a matrix whose core is beside them. */
export function beyondCore(define: () => void): void {
  if (whole) define()
}

/** The variable with the path of the hub that a run of the suite has built for most of its families. */
export const BUILT_HUB = 'TESTS_BUILT_HUB'
