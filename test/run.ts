/**
 * Runs the checks and the test families one after the other, with their output as it comes, and ends with one line
 * `N passed, N failed`. Exit code 1 when anything failed, a family ran no test, or errors were left unhandled. A run of
 * everything ends with a look at the codes of errors: each one must have been the answer to some test.
 *
 *   bun run test               everything
 *   bun run test http mcp      these families
 *   bun run test http -t name  further arguments go to `bun test`
 *   bun run check              types, lint, dead code, architecture
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Count, countTests, countWhole } from './support/count.ts'

interface Suite {
  readonly name: string
  readonly command: readonly string[]
  /** A program that passes or fails as a whole; else a run of `bun test` that counts. */
  readonly single: boolean
  /** Begins with the family of this name and runs beside it: both wait far more than they work. */
  readonly beside?: string
  /** Whoever asks for this family means this one too. */
  readonly partOf?: string
}

const ROOT = join(import.meta.dir, '..')
const LONGEST_MS = 15 * 60_000
const bun = process.execPath
const bin = (name: string): string => join('node_modules/.bin', name)

const CHECKS: readonly Suite[] = [
  // Under Bun and not by their own first line, which asks for a newer Node than a machine may have.
  { name: 'types', command: [bun, bin('tsc'), '-p', '.'], single: true },
  { name: 'lint', command: [bun, bin('biome'), 'check', '.'], single: true },
  { name: 'dead-code', command: [bun, bin('knip')], single: true },
  { name: 'architecture', command: tests('./test/architecture.test.ts'), single: false },
]
const FAMILIES: readonly Suite[] = [
  family('unit'),
  family('http', { beside: 'unit' }),
  family('fuzz'),
  family('plugins'),
  family('mcp'),
  family('compatibility', { beside: 'mcp' }),
  family('conformance'),
  // The rooms that keep things, on the other database.
  {
    name: 'postgres',
    command: [bun, 'test/support/with-postgres.ts', ...tests('./test/unit/registry/'), './test/postgres/'],
    single: false,
    beside: 'conformance',
  },
  family('failure'),
  family('patience', { beside: 'failure', partOf: 'failure' }),
  family('load'),
  family('runtime'),
  { name: 'bench', command: tests('./test/bench/floors.test.ts'), single: false },
]

/** Families whose hubs, taken together, answer every code. */
const ANSWERING = ['unit', 'http', 'mcp', 'failure', 'postgres']

function family(name: string, more: Pick<Suite, 'beside' | 'partOf'> = {}): Suite {
  return { name, command: tests(`./test/${name}/`), single: false, ...more }
}

function tests(path: string): readonly string[] {
  return [bun, 'test', '--timeout', '20000', path]
}

/** What the names on the command line stand for: none is everything, `check` all checks. `whole`: no test is picked out. */
function chosen(names: readonly string[], whole: boolean): readonly Suite[] {
  const all = [...CHECKS, ...FAMILIES]
  const unknown = names.find(name => name !== 'check' && !all.some(suite => suite.name === name))
  if (unknown !== undefined) {
    console.error(`Unknown family "${unknown}": choose from check, ${all.map(one => one.name).join(', ')}`)
    process.exit(2)
  }
  if (names.length === 0) return all
  return names.flatMap(name =>
    name === 'check' ? CHECKS : all.filter(suite => suite.name === name || (suite.partOf === name && whole)),
  )
}

/** Output comes as it is written, or at the end. */
async function run(suite: Suite, extra: readonly string[], atEnd = false): Promise<Count> {
  const child = Bun.spawn([...suite.command, ...(suite.single ? [] : extra)], {
    cwd: ROOT,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    env: { ...process.env, SEEN_CODES: seenCodes },
    timeout: LONGEST_MS,
    killSignal: 'SIGKILL',
  })
  let text = ''
  const follow = async (stream: ReadableStream<Uint8Array>, to: NodeJS.WriteStream): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) {
      if (!atEnd) to.write(chunk)
      text += decoder.decode(chunk, { stream: true })
    }
  }
  await Promise.all([follow(child.stdout, process.stdout), follow(child.stderr, process.stderr)])
  const code = await child.exited
  if (atEnd) process.stdout.write(text)
  return suite.single ? countWhole(code) : countTests(text, code)
}

const folder = await mkdtemp(join(tmpdir(), 'patchbay-codes-'))
const seenCodes = join(folder, 'seen')
await writeFile(seenCodes, '')
const given = process.argv.slice(2)
const firstOption = given.findIndex(argument => argument.startsWith('-'))
const names = firstOption < 0 ? given : given.slice(0, firstOption)
const extra = firstOption < 0 ? [] : given.slice(firstOption)

const results: { readonly suite: Suite; readonly count: Count; readonly seconds: number }[] = []
const suites = chosen(names, extra.length === 0)
const wholeRun = extra.length === 0 && ANSWERING.every(name => suites.some(suite => suite.name === name))
const codes: Suite = { name: 'codes', command: [bun, 'test/support/seen-codes.ts', seenCodes], single: true }
const waiting = new Map<Suite, Promise<void>>()

async function finish(suite: Suite, atEnd = false): Promise<void> {
  const start = performance.now()
  const count = await run(suite, extra, atEnd)
  results.push({ suite, count, seconds: (performance.now() - start) / 1_000 })
}

for (const suite of [...suites, ...(wholeRun ? [codes] : [])]) {
  for (const other of suites) if (other.beside === suite.name) waiting.set(other, finish(other, true))
  console.log(`\n=== ${suite.name}: ${suite.command.slice(1).join(' ')}`)
  await (waiting.get(suite) ?? finish(suite))
}

await rm(folder, { recursive: true })
console.log('\n=== summary')
for (const { suite, count: counted, seconds } of results) {
  const told = counted.problem === undefined ? '' : `  (${counted.problem})`
  const mark = counted.failed > 0 ? 'FAILED' : 'ok'
  console.log(
    `${mark.padEnd(6)} ${suite.name.padEnd(12)} ${counted.passed} passed, ${counted.failed} failed in ${seconds.toFixed(1)} s${told}`,
  )
}
const passed = results.reduce((sum, result) => sum + result.count.passed, 0)
const failed = results.reduce((sum, result) => sum + result.count.failed, 0)
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed > 0 ? 1 : 0)
