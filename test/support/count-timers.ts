/**
 * Loaded before the hub: counts the pending timers of its main thread, and writes their number to standard error as `timers: N`
 * at each SIGUSR2.
 */
type Handle = ReturnType<typeof setTimeout>

const pending = new Set<Handle>()
const { setTimeout: once, setInterval: again, clearTimeout: cancel } = globalThis

globalThis.setTimeout = Object.assign((work: (...args: unknown[]) => void, ms?: number, ...args: unknown[]): Handle => {
  const timer: Handle = once(() => {
    pending.delete(timer)
    work(...args)
  }, ms)
  pending.add(timer)
  return timer
}, once) as typeof setTimeout

globalThis.setInterval = ((work: (...args: unknown[]) => void, ms?: number, ...args: unknown[]): Handle => {
  const timer = again(work, ms, ...args)
  pending.add(timer)
  return timer
}) as typeof setInterval

globalThis.clearTimeout = globalThis.clearInterval = ((timer: Handle | undefined): void => {
  if (timer !== undefined) pending.delete(timer)
  cancel(timer)
}) as typeof clearTimeout

process.on('SIGUSR2', () => process.stderr.write(`timers: ${pending.size}\n`))
