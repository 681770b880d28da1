import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { atMost } from '../../support/pace.ts'

export interface Temp {
  readonly path: string
  [Symbol.asyncDispose](): Promise<void>
}

/** A folder that goes with the test. */
export async function tempFolder(): Promise<Temp> {
  const path = await mkdtemp(join(tmpdir(), 'patchbay-config-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

/** Waits until `condition` gives something; throws after 20 s. */
export async function until<T>(condition: () => T | Promise<T>, what: string): Promise<NonNullable<T>> {
  const deadlineMs = performance.now() + atMost(20_000)
  for (;;) {
    const value = await condition()
    if (value !== undefined && value !== null && value !== false) return value as NonNullable<T>
    if (performance.now() > deadlineMs) throw new Error(`Waited 20 s in vain until ${what}`)
    await wait(5)
  }
}
