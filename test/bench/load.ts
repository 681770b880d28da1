/**
 * The client of one measurement, in a process of its own so that it shares no thread with what it measures.
 * Takes its plan as JSON in the first argument; prints `started` after the warm-up and the result as JSON at the end.
 */
import { type HttpTarget, httpLoad, type LoadResult } from './http-client.ts'
import { Latencies } from './latencies.ts'
import { pipeLoad } from './pipe-client.ts'
import { visitLoad } from './visits.ts'

export type LoadPlan = { readonly sessions: number; readonly seconds: number; readonly warmUpMs: number } & (
  | { readonly kind: 'http' | 'visits'; readonly target: HttpTarget }
  | { readonly kind: 'pipe'; readonly command: readonly string[]; readonly children: number }
)

async function main(plan: LoadPlan): Promise<LoadResult> {
  let latencies: Latencies | undefined
  let errors = 0
  let firstError: string | undefined
  const onError = (message: string): void => {
    errors += 1
    firstError ??= message
  }
  const load = await startLoad(plan, () => latencies, onError)
  await Bun.sleep(plan.warmUpMs)
  const measured = new Latencies()
  console.log('started')
  const start = performance.now()
  latencies = measured
  await Bun.sleep(plan.seconds * 1_000)
  latencies = undefined
  const seconds = (performance.now() - start) / 1_000
  console.log('finished')
  await load.stop()
  const [p50 = 0, p99 = 0] = measured.quantiles([0.5, 0.99])
  return { calls: measured.count, errors, ...(firstError === undefined ? {} : { firstError }), seconds, p50, p99 }
}

async function startLoad(
  plan: LoadPlan,
  latencies: () => Latencies | undefined,
  onError: (message: string) => void,
): Promise<{ stop(): Promise<void> }> {
  if (plan.kind === 'pipe') return await pipesLoad(plan, latencies, onError)
  if (plan.kind === 'http') return await httpLoad(plan.target, plan.sessions, latencies, onError)
  return visitLoad(plan.target, plan.sessions, (ms, error) => {
    if (error === undefined) latencies()?.add(ms)
    else onError(error)
  })
}

/** Shares the sessions out among the children. */
async function pipesLoad(
  plan: LoadPlan & { readonly kind: 'pipe' },
  latencies: () => Latencies | undefined,
  onError: (message: string) => void,
): Promise<{ stop(): Promise<void> }> {
  const each = plan.sessions / plan.children
  const loads = await Promise.all(
    Array.from({ length: plan.children }, () => pipeLoad(plan.command, each, latencies, onError)),
  )
  return {
    async stop() {
      await Promise.all(loads.map(load => load.stop()))
    },
  }
}

if (import.meta.main) {
  const result = await main(JSON.parse(process.argv[2] ?? '{}'))
  console.log(JSON.stringify(result))
  process.exit(0)
}
