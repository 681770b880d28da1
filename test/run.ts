/**
 * Runs the checks and the test families, with the output of each when it ends, and ends with the slowest files and one line
 * `N passed, N failed`. Exit code 1 when anything failed, a family ran no test, or errors were left unhandled. A run of
 * everything ends with a look at the codes of errors: each one must have been the answer to some test.
 *
 * The suite is what a change must pass: of long tests it runs a part (`support/extent.ts`) and of files named `*.long.test.ts`
 * nothing. `--whole` runs both to their end, as `bun run soak` does.
 *
 * Families wait more than they work, so that five run side by side for two processors, the longest first and in parts of about a
 * minute; what only waits runs beside them from the start, and what measures time or memory alone, after them. A few failed
 * tests run once more at the end, file by file with nothing beside: those that pass then are named as unsteady, with what they
 * failed on, and do not fail the run. Each of them is a defect to find.
 *
 *   bun run test                     everything
 *   bun run test http mcp            these families
 *   bun run test --whole             everything, with the long files and the whole of the long tests
 *   bun run test --whole mcp         one family so
 *   bun run test http -t name        further arguments go to `bun test`
 *   bun run test --changed           the checks, and the files that reach what differs from the last commit
 *   bun run test --changed main      what differs from that commit
 *   bun run check                    types, lint, dead code, architecture
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundledMain } from '../deploy/bundle.ts'
import { changedFiles, testsTouchedBy } from './support/changed.ts'
import {
  type Count,
  countTests,
  countWhole,
  type Failure,
  type FileTime,
  failuresOf,
  timesOfFiles,
  withoutUnsteady,
} from './support/count.ts'
import { BUILT_HUB, LONG_FILES, WHOLE } from './support/extent.ts'
import { SIDE_BY_SIDE } from './support/pace.ts'
import { KEPT_MEMORY, PROCESSOR_TIMES, RECYCLED } from './support/recycled.ts'
import { CHECKS, FAMILIES, type Suite } from './support/suites.ts'

const ROOT = join(import.meta.dir, '..')
/** Families take two fifths of a processor on average. More than eight would take memory instead of waiting. */
const LANES = Math.min(8, Math.max(4, Math.ceil(2.5 * availableParallelism())))
/** Lanes for families that mostly wait. */
const IDLE_LANES = 3
/** More failures than this are not for want of a quiet machine. */
const MOST_AGAIN = 12
const whole = process.argv.includes('--whole')

/** Families whose hubs, taken together, answer every code. */
const ANSWERING = ['unit', 'http', 'mcp', 'failure', 'postgres']

/** Each family as a whole: a part of it may contain none of the few tests. */
function undivided(suites: readonly Suite[]): readonly Suite[] {
  return suites.filter(({ shard }) => shard?.startsWith('1/') !== false).map(({ shard: _, ...suite }) => suite)
}

/** The suites for the names on the command line: no name means everything, `check` all checks. `whole`: no test is picked out. */
function chosen(names: readonly string[], whole: boolean): readonly Suite[] {
  const picked = undivided(FAMILIES).map(({ without: _, ...suite }) => suite)
  const all = [...CHECKS, ...(whole ? FAMILIES : picked)]
  const unknown = names.find(name => name !== 'check' && !all.some(suite => suite.name === name))
  if (unknown !== undefined) {
    console.error(
      `Unknown family "${unknown}": choose from check, ${undivided(all)
        .map(one => one.name)
        .join(', ')}`,
    )
    process.exit(2)
  }
  if (names.length === 0) return all
  return names.flatMap(name =>
    name === 'check' ? CHECKS : all.filter(suite => suite.name === name || (suite.partOf === name && whole)),
  )
}

/** The checks, and the test files of each family that reach files changed since a commit. */
function changedSince(commit: string): readonly Suite[] {
  const changed = changedFiles(ROOT, commit)
  const touched = testsTouchedBy(changed, ROOT).map(file => `./${file}`)
  console.log(`${changed.length} files changed since ${commit}, ${touched.length} test files reach them`)
  const families = undivided(FAMILIES).flatMap(suite => {
    const paths = suite.command.filter(argument => argument.startsWith('./test/'))
    const files = touched.filter(
      file => paths.some(path => file.startsWith(path)) && suite.without?.includes(file) !== true,
    )
    return files.length > 0 ? [{ ...suite, command: commandFor(suite, files) }] : []
  })
  return [...CHECKS, ...families]
}

/** The command of a family for some of its files. */
function commandFor(suite: Suite, files: readonly string[]): readonly string[] {
  return [...suite.command.filter(argument => !argument.startsWith('./test/')), ...files]
}

interface Result {
  readonly suite: Suite
  readonly count: Count
  readonly seconds: number
  /** Seconds of processor time, including all processes that the suite started. */
  readonly cpuSeconds: number
  readonly files: readonly FileTime[]
  readonly failures: readonly Failure[]
}

/** `beside`: how many want a processor at the same time, with this one. */
async function run(suite: Suite, extra: readonly string[], beside: number): Promise<Result> {
  const start = performance.now()
  // The output of a single suite is shown as it comes; otherwise it is shown at the end.
  const live = suites.length === 1
  const part = suite.shard === undefined ? [] : [`--shard=${suite.shard}`]
  const times = join(folder, `processor-times-${crypto.randomUUID()}`)
  await writeFile(times, '')
  const patterns = [
    ...(whole || onlyChanged ? [] : [LONG_FILES]),
    ...(suite.without ?? []).map(path => path.replace('./', '**/')),
  ]
  const leftOut = patterns.map(pattern => `--path-ignore-patterns=${pattern}`)
  const child = Bun.spawn([...suite.command, ...part, ...(suite.single ? [] : [...leftOut, ...extra])], {
    cwd: ROOT,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    env: {
      ...process.env,
      ...{ SEEN_CODES: seenCodes, [SIDE_BY_SIDE]: String(beside), [PROCESSOR_TIMES]: times },
      ...suite.env,
      ...(suite.recycles ? { [RECYCLED]: '1' } : {}),
      ...(suite.recycles || suite.keepsMemory ? KEPT_MEMORY : {}),
      ...(whole ? { [WHOLE]: '1' } : {}),
      ...(builtHub === undefined || suite.alone ? {} : { [BUILT_HUB]: builtHub }),
    },
    timeout: (whole ? 120 : 25) * 60_000,
    killSignal: 'SIGKILL',
  })
  let text = ''
  const follow = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) {
      if (live) process.stdout.write(chunk)
      text += decoder.decode(chunk, { stream: true })
    }
  }
  await Promise.all([follow(child.stdout), follow(child.stderr)])
  const code = await child.exited
  if (!live) console.log(`\n=== ${suite.name} ${suite.shard ?? ''}: ${suite.command.slice(1).join(' ')}\n${text}`)
  return {
    suite,
    count: suite.single ? countWhole(code) : countTests(text, code),
    seconds: (performance.now() - start) / 1_000,
    cpuSeconds: Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1_000_000 + (await recycledSeconds(times)),
    files: timesOfFiles(text),
    failures: failuresOf(text),
  }
}

/** Processor time of the processes in which hubs ran one after the other, which nobody waits for. */
async function recycledSeconds(times: string): Promise<number> {
  const lines = (await readFile(times, 'utf8')).split('\n')
  return lines.reduce((sum, seconds) => sum + Number(seconds), 0)
}

const folder = await mkdtemp(join(tmpdir(), 'patchbay-codes-'))
const seenCodes = join(folder, 'seen')
await writeFile(seenCodes, '')
const given = process.argv.slice(2).filter(argument => argument !== '--whole')
const onlyChanged = given[0] === '--changed'
const firstOption = onlyChanged ? given.length : given.findIndex(argument => argument.startsWith('-'))
const names = firstOption < 0 ? given : given.slice(0, firstOption)
const extra = firstOption < 0 ? [] : given.slice(firstOption)

const results: Result[] = []
const suites = onlyChanged ? changedSince(given[1] ?? 'HEAD') : chosen(names, extra.length === 0)
const wholeRun =
  !onlyChanged && extra.length === 0 && ANSWERING.every(name => suites.some(suite => suite.name === name))
const codes: Suite = {
  name: 'codes',
  command: [process.execPath, 'test/support/seen-codes.ts', seenCodes],
  single: true,
}

/**
 * Hundreds of hubs are started. Families that measure time or memory run the hub in the form that people run. Sources that
 * cannot be built fail in the checks and in each family.
 */
const builtHub = wholeRun ? await bundledMain('parsed').catch(() => undefined) : undefined

async function inTurn(list: readonly Suite[], beside = 1): Promise<void> {
  for (const suite of list) results.push(await run(suite, extra, beside))
}

const waiting = suites.filter(suite => !suite.alone && !suite.waits)
const lanes = Math.max(1, Math.min(LANES, waiting.length))
// At any time some of them wait.
const wanting = Math.ceil((lanes * 2) / 3)
const lane = async (): Promise<void> => {
  for (let suite = waiting.shift(); suite; suite = waiting.shift()) await inTurn([suite], wanting)
}
const idle = suites.filter(suite => suite.waits)
const idleLane = async (): Promise<void> => {
  for (let suite = idle.shift(); suite; suite = idle.shift()) await inTurn([suite], wanting)
}
await Promise.all([...Array.from({ length: lanes }, lane), ...Array.from({ length: IDLE_LANES }, idleLane)])
await inTurn(suites.filter(suite => suite.alone))
if (wholeRun) await inTurn([codes])

/** Runs the files of failed tests once more, each alone. Gives the tests that passed then. */
async function again(): Promise<readonly Failure[]> {
  const unsteady: Failure[] = []
  if (results.reduce((sum, { count }) => sum + count.failed, 0) > MOST_AGAIN) return unsteady
  for (const [index, result] of results.entries()) {
    const { suite, failures } = result
    for (const file of new Set(failures.map(failure => failure.file).filter(name => name !== ''))) {
      const { shard: _, ...whole } = suite
      const second = await run({ ...whole, command: commandFor(suite, [`./${file}`]) }, extra, 1)
      const passed = failures.filter(failure => failure.file === file)
      if (second.count.failed > 0 || second.count.problem !== undefined) continue
      unsteady.push(...passed)
      results[index] = { ...result, ...withoutUnsteady(results[index] ?? result, passed) }
    }
  }
  return unsteady
}

const unsteady = await again()
await rm(folder, { recursive: true })
console.log('\n=== slowest files')
const files = results.flatMap(result => result.files).toSorted((a, b) => b.seconds - a.seconds)
for (const { file, seconds } of files.slice(0, 10)) console.log(`${seconds.toFixed(1).padStart(6)} s  ${file}`)
console.log('\n=== summary')
for (const { suite, count: counted, seconds, cpuSeconds } of results) {
  const told = counted.problem === undefined ? '' : `  (${counted.problem})`
  const mark = counted.failed > 0 ? 'FAILED' : 'ok'
  const time = `${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of processors`
  console.log(
    `${mark.padEnd(6)} ${`${suite.name} ${suite.shard ?? ''}`.padEnd(13)} ${counted.passed} passed, ${counted.failed} failed in ${time}${told}`,
  )
}
function tell(mark: string, { file, test, error }: Failure): void {
  console.log(`\n${mark} ${file}: ${test}\n${error.map(line => `       ${line}\n`).join('')}`)
}
// These come last, since people read a long log from its end.
for (const failure of unsteady) tell('UNSTEADY (passed alone)', failure)
for (const failure of results.flatMap(result => result.failures).slice(0, 10)) tell('FAILED', failure)
const passed = results.reduce((sum, result) => sum + result.count.passed, 0)
const failed = results.reduce((sum, result) => sum + result.count.failed, 0)
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed > 0 ? 1 : 0)
