import type { Browser, Page } from 'playwright-core'

/** Work of the main thread of a tab, in milliseconds of processor time. */
export interface MainThreadWork {
  /** Scripts and all work that they cause at once, such as a layout that they ask for. */
  readonly script: number
  /** Styles and layout outside of scripts. */
  readonly layout: number
  /** The longest task, without the time of other programs on the machine. */
  readonly longest: number
}

interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  /** Begin, and duration by the clock, in microseconds. */
  readonly ts: number
  readonly dur?: number
  /** Duration in processor time of the thread, in microseconds. */
  readonly tdur?: number
  readonly args?: { readonly name?: string }
}

type Span = TraceEvent & { readonly dur: number; readonly tdur: number }

const CATEGORIES = ['devtools.timeline', 'v8', 'toplevel']
const TASK = 'ThreadControllerImpl::RunTask'
const SCRIPTS = new Set([
  ...['EvaluateScript', 'EventDispatch', 'FireAnimationFrame', 'FireIdleCallback', 'FunctionCall', 'TimerFire'],
  ...['BlinkScheduler_PerformMicrotaskCheckpoint', 'RunMicrotasks', 'v8.callFunction', 'v8.compile', 'v8.run'],
  ...['MajorGC', 'MinorGC'],
])
const LAYOUTS = new Set(['Layout', 'UpdateLayoutTree'])

/**
 * Traces a tab while `act` runs and until the page has been drawn after it. What `act` does should need no script of the
 * test's own in the page, since that would count: keys and clicks at a place need none.
 */
export async function mainThreadWork(
  browser: Browser,
  page: Page,
  act: () => Promise<unknown>,
): Promise<MainThreadWork> {
  await browser.startTracing(page, { categories: CATEGORIES })
  let trace: string
  try {
    await act()
    await page.evaluate(drawn)
  } finally {
    trace = (await browser.stopTracing()).toString()
  }
  const { traceEvents } = JSON.parse(trace) as { readonly traceEvents: readonly TraceEvent[] }
  const id = ({ pid, tid }: TraceEvent): string => `${pid}/${tid}`
  const threads = traceEvents.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
  const mains = new Set(threads.map(id))
  const spans = traceEvents.filter(
    (event): event is Span => event.ph === 'X' && event.tdur !== undefined && mains.has(id(event)),
  )
  const script = outermost(spans.filter(({ name }) => SCRIPTS.has(name)))
  const all = outermost(spans.filter(({ name }) => SCRIPTS.has(name) || LAYOUTS.has(name)))
  const tasks = spans.filter(({ name }) => name === TASK).map(({ tdur }) => tdur / 1000)
  // A browser that calls its events by other names would pass every bound.
  if (script === 0 || tasks.length === 0)
    throw new Error(`The trace of ${spans.length} events names no script, or no task`)
  return { script, layout: all - script, longest: Math.max(...tasks) }
}

/** Resolves once the page has been drawn with everything that is so far. */
async function drawn(): Promise<void> {
  const frame = (): Promise<number> => new Promise(resolve => requestAnimationFrame(resolve))
  await frame()
  await frame()
  await new Promise(resolve => setTimeout(resolve))
}

/** Sum of the spans that lie in no other of them, in milliseconds. */
function outermost(spans: readonly Span[]): number {
  let sum = 0
  let end = 0
  for (const { ts, dur, tdur } of spans.toSorted((left, right) => left.ts - right.ts || right.dur - left.dur)) {
    if (ts < end) continue
    sum += tdur
    end = ts + dur
  }
  return sum / 1000
}
