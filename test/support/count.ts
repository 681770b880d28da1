export interface Count {
  readonly passed: number
  readonly failed: number
  /** Why a run counts as failed when its own numbers do not say so. */
  readonly problem?: string
}

/** A program that passes or fails as a whole. */
export function countWhole(exitCode: number): Count {
  return exitCode === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1, problem: `ended with ${exitCode}` }
}

/**
 * Adds up what `bun test` says at its end. Errors outside of any test, a run without a test, and an exit code that the
 * numbers do not explain are failures too.
 */
export function countTests(output: string, exitCode: number): Count {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
  const plain = output.replaceAll(/\x1b\[[0-9;]*m/g, '')
  const last = (pattern: RegExp): number => Number([...plain.matchAll(pattern)].at(-1)?.[1] ?? 0)
  const passed = last(/^ *(\d+) pass$/gm)
  const failed = last(/^ *(\d+) fail$/gm)
  const errors = last(/^ *(\d+) errors?$/gm)
  if (errors > 0) return { passed, failed: failed + errors, problem: `${errors} errors outside of any test` }
  if (passed + failed === 0) return { passed: 0, failed: 1, problem: `ran no test (ended with ${exitCode})` }
  if (exitCode !== 0 && failed === 0) return { passed, failed: 1, problem: `ended with ${exitCode}` }
  return { passed, failed }
}
