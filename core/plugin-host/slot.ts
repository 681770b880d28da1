import type { PluginDefinition } from '../contract/plugin.ts'
import type { ExtensionPoints } from '../contract/points.ts'
import type { PluginEntry } from './resolve.ts'

/** `failed` after an error, `disabled` by its settings, `stopped` with the hub. */
export type PluginState = 'running' | 'failed' | 'disabled' | 'stopped'

/** One plugin of the host, from its entry to its end. */
export interface Slot {
  readonly entry: PluginEntry
  readonly definition: PluginDefinition<unknown> | undefined
  name: string
  state: PluginState
  isolated: boolean
  sha256: string | undefined
  message: string | undefined
  readonly held: [point: keyof ExtensionPoints, id: string][]
  undo: (() => void | Promise<void>)[]
}

/** A plugin that was not started yet. */
export function newSlot(entry: PluginEntry, definition: PluginDefinition<unknown> | undefined): Slot {
  return {
    entry,
    definition,
    name: definition?.name ?? entry.use,
    state: 'stopped',
    isolated: false,
    sha256: undefined,
    message: undefined,
    held: [],
    undo: [],
  }
}
