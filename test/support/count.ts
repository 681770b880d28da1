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
 * Adds up the final counts of `bun test`. Errors outside of any test, a run without a test, and an exit code that the counts do
 * not explain are failures too.
 */
export function countTests(output: string, exitCode: number): Count {
  const plain = withoutColours(output)
  const last = (pattern: RegExp): number => Number([...plain.matchAll(pattern)].at(-1)?.[1] ?? 0)
  const passed = last(/^ *(\d+) pass$/gm)
  const failed = last(/^ *(\d+) fail$/gm)
  const errors = last(/^ *(\d+) errors?$/gm)
  if (errors > 0) return { passed, failed: failed + errors, problem: `${errors} errors outside of any test` }
  if (passed + failed === 0) return { passed: 0, failed: 1, problem: `ran no test (ended with ${exitCode})` }
  if (exitCode !== 0 && failed === 0) return { passed, failed: 1, problem: `ended with ${exitCode}` }
  return { passed, failed }
}

export interface FileTime {
  readonly file: string
  /** Duration of its tests, without the hooks before and after all of them. */
  readonly seconds: number
}

/** The files of a run of `bun test`, as they came. */
export function timesOfFiles(output: string): readonly FileTime[] {
  const times = new Map<string, number>()
  let file: string | undefined
  for (const line of withoutColours(output).split('\n')) {
    file = /^(test\/\S+\.test\.ts):$/.exec(line)?.[1] ?? file
    const ms = /^\((?:pass|fail)\) .* \[([\d.]+)ms\]$/.exec(line)?.[1]
    if (file !== undefined && ms !== undefined) times.set(file, (times.get(file) ?? 0) + Number(ms))
    if (/^\d+ tests? failed:$/.test(line)) break
  }
  return [...times].map(([name, ms]) => ({ file: name, seconds: ms / 1_000 }))
}

export interface Failure {
  readonly file: string
  readonly test: string
  /** The first lines of the error; empty if it was thrown outside of the test. */
  readonly error: string[]
}

const ERROR_LINES = 5

/** The failed tests of a run of `bun test`, as they came. */
export function failuresOf(output: string): readonly Failure[] {
  const failures: Failure[] = []
  let file = ''
  let error: string[] = []
  for (const line of withoutColours(output).split('\n')) {
    if (/^\d+ tests? failed:$/.test(line)) break
    file = /^(test\/\S+\.test\.ts):$/.exec(line)?.[1] ?? file
    const failed = /^\(fail\) (.*?)(?: \[[\d.]+ms\])?$/.exec(line)?.[1]
    if (failed !== undefined) failures.push({ file, test: failed, error })
    const late = /^\s+\^ (this test timed out .*)$/.exec(line)?.[1]
    if (late !== undefined) failures.at(-1)?.error.push(late)
    if (/^\((?:pass|fail)\) /.test(line)) error = []
    else if (
      /^(?:error|[A-Z]\w*Error): /.test(line) ||
      (error.length > 0 && error.length < ERROR_LINES && line.trim() !== '')
    )
      error.push(line)
  }
  return failures
}

/** The count and the failures of a run, when these of its failed tests passed alone. */
export function withoutUnsteady(
  { count, failures }: { readonly count: Count; readonly failures: readonly Failure[] },
  passed: readonly Failure[],
): { readonly count: Count; readonly failures: readonly Failure[] } {
  const failed = count.failed - passed.length
  // A problem other than failed tests, such as an error outside of any, is one still.
  return {
    count: { ...count, passed: count.passed + passed.length, failed },
    failures: failures.filter(failure => !passed.includes(failure)),
  }
}

function withoutColours(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
  return text.replaceAll(/\x1b\[[0-9;]*m/g, '')
}
