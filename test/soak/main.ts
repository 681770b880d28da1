/**
 * A million calls with faults mixed in, then the properties of test/fuzz with more runs, growing bodies for every route, and
 * all tests, including those that the suite runs in part or not at all.
 *
 *   bun run soak                       1,000,000 calls after as many to warm up, and twenty times the runs of the suite
 *   bun run soak --calls 100000        fewer calls; 0 leaves them out
 *   bun run soak --minutes 10          ends the calls after so many minutes
 *   bun run soak --seed 7              the faults of an earlier run, and its properties
 *   bun run soak --quiet               without faults, to separate what calls leave behind from what faults do
 *   bun run soak --fuzz-runs 0         without the properties
 *   bun run soak --work-rounds 0       without the growing bodies, each of which is sent ten times by default, and without one
 *                                      user's attacks on memory; there, the answers to others are timed by the clock
 *   bun run soak --short               without all tests at the end
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../support/hub.ts'
import { broken, HEADING, type SoakResult, soak } from './soak.ts'

const MOST_BYTES = 8 * 1024 * 1024

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '1000000' },
    minutes: { type: 'string' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 0x7fff_ffff)) },
    'fuzz-runs': { type: 'string', default: '10000' },
    'work-rounds': { type: 'string', default: '10' },
    quiet: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
  },
})
const number = (name: string, text: string): number => {
  if (/^\d{1,10}$/.test(text)) return Number(text)
  console.error(`--${name} is "${text}"; wanted: a whole number`)
  process.exit(2)
}
const seed = number('seed', values.seed)
const calls = number('calls', values.calls)
const fuzzRuns = number('fuzz-runs', values['fuzz-runs'])
const workRounds = number('work-rounds', values['work-rounds'])
const limitMs = values.minutes === undefined ? undefined : number('minutes', values.minutes) * 60_000

function tell(result: SoakResult): readonly string[] {
  const { answered, refused, wrong, faults, seconds } = result
  const { residentSlope, heapSlope, workerHeapSlope } = result
  const mb = (bytes: number): string => (bytes / 1024 / 1024).toFixed(2)
  const rate = Math.round((answered + refused) / seconds).toLocaleString('en-US')
  console.log(
    `\n${answered} answered, ${refused} refused by servers under faults, ${wrong.length} wrong; ${rate} calls/s`,
  )
  console.log(`faults: ${[...faults].map(([name, count]) => `${count} × ${name}`).join(', ')}`)
  console.log('growth after the first tenth, per 1,000,000 calls:')
  console.log(`  resident memory ${mb(residentSlope)} MB`)
  console.log(`  live objects ${mb(heapSlope)} MB in the main thread, ${mb(workerHeapSlope)} MB in the workers`)
  return broken(result, MOST_BYTES)
}

console.log(`soak: --seed ${seed} --calls ${calls}`)
let problems: readonly string[] = []
if (calls > 0) {
  console.log(HEADING)
  problems = tell(
    await soak({
      calls,
      seed,
      quiet: values.quiet,
      report: console.log,
      ...(limitMs === undefined ? {} : { limitMs }),
    }),
  )
}
for (const problem of problems) console.log(`FAILED: ${problem}`)
let failed = problems.length > 0
async function passes(env: Readonly<Record<string, string>>, ...command: readonly string[]): Promise<boolean> {
  const child = Bun.spawn([process.execPath, ...command], {
    cwd: join(ROOT),
    env: { ...process.env, ...env },
    stdout: 'inherit',
    stderr: 'inherit',
  })
  return (await child.exited) === 0
}

const TEST = ['test', '--timeout', '600000'] as const
if (fuzzRuns > 0) {
  const env = { PATCHBAY_FUZZ_SEED: String(seed), PATCHBAY_FUZZ_RUNS: String(fuzzRuns), PATCHBAY_WHOLE: '1' }
  failed = !(await passes(env, ...TEST, './test/fuzz/')) || failed
}
if (workRounds > 0) {
  const env = { PATCHBAY_WORK_ROUNDS: String(workRounds) }
  failed = !(await passes(env, ...TEST, './test/load/work-fuzz.test.ts')) || failed
  const strict = { PATCHBAY_STRICT_LATENCY: '1', PATCHBAY_WHOLE: '1' }
  failed = !(await passes(strict, ...TEST, './test/load/bytes-in-flight.test.ts')) || failed
}
if (!values.short) {
  failed = !(await passes({ SEED: String(seed) }, 'run', 'test', '--whole')) || failed
}
process.exit(failed ? 1 : 0)
