import { HubError } from '../contract/errors.ts'
import type { JsonValue } from '../contract/json.ts'
import type { ServerRecord } from '../contract/records.ts'
import type { PluginTables } from '../contract/tables.ts'
import type { ClosedField } from '../domain/server/server-fields.ts'
import type { Transports } from '../domain/server/transports.ts'
import type { AttachedKind, AttachedSettings, AttachedThing } from '../features/attached.ts'
import type { Store } from '../store/open.ts'

/** Tables of the plugin that has some settings, on a store or within a transaction of it. */
export type AttachedTables = <Schema>(store: Store) => PluginTables<Schema>

interface Running {
  readonly settings: AttachedSettings
  readonly tables: AttachedTables
}

interface Declared {
  readonly plugin: string
  readonly kinds: readonly AttachedKind[]
}

type Place = Pick<AttachedThing, 'kind' | 'id'>

/** Settings of plugins beside servers, groups, users and keys: which there are, and which plugins run. */
export class OpenAttached {
  readonly #declared = new Map<string, Declared>()
  readonly #running = new Map<string, Running>()
  readonly #listeners: (() => void)[] = []
  /** `placeKey` of each setting that the settings file states. */
  #stated: ReadonlySet<string> = new Set()

  /** The settings of a plugin, whether it runs or not. */
  declare(plugin: string, all: Readonly<Record<string, readonly AttachedKind[]>>): void {
    for (const [name, kinds] of Object.entries(all)) this.#declared.set(name, { plugin, kinds })
  }

  /** Throws Error for settings that the plugin has not declared. */
  add(plugin: string, name: string, settings: AttachedSettings, tables: AttachedTables): void {
    if (this.#declared.get(name)?.plugin !== plugin)
      throw new Error(`attachedSettings "${name}": the plugin’s definition has no such "attachedSettings"`)
    settings.opened?.({
      refuseStated: place => this.refuseStated(name, place),
      isStated: place => this.isStated(name, place),
    })
    this.#running.set(name, { settings, tables })
    for (const listener of this.#listeners) listener()
  }

  remove(name: string): void {
    this.#running.delete(name)
  }

  /** Calls back whenever a plugin with such settings has started. */
  onAdded(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Names of all settings that things of a kind can have, whether their plugins run or not. */
  names(kind?: AttachedKind): readonly string[] {
    const found = [...this.#declared].filter(([, { kinds }]) => kind === undefined || kinds.includes(kind))
    return found.map(([name]) => name)
  }

  /** Name of the plugin that has these settings. */
  pluginOf(name: string): string {
    return this.#declared.get(name)?.plugin ?? name
  }

  /** Undefined while the plugin does not run, or has none for this kind. */
  running(name: string, kind: AttachedKind): AttachedSettings | undefined {
    return this.#declared.get(name)?.kinds.includes(kind) ? this.#running.get(name)?.settings : undefined
  }

  /** Saves a checked value, or removes the present one with null, within a transaction on this store. */
  async save(store: Store, name: string, thing: AttachedThing, value: JsonValue | null): Promise<void> {
    const running = this.#running.get(name)
    if (!running) throw new HubError('plugin_not_found', `The plugin "${this.pluginOf(name)}" does not run any more`)
    const { settings, tables } = running
    await settings.save(<Schema>() => tables<Schema>(store), thing, value)
  }

  /** Sets which settings the settings file states: `placeKey` of each. */
  setStated(places: ReadonlySet<string>): void {
    this.#stated = places
  }

  isStated(name: string, place: Place): boolean {
    return this.#stated.has(placeKey(name, place))
  }

  /** Throws `settings_read_only`. */
  refuseStated(name: string, place: Place): void {
    if (!this.isStated(name, place)) return
    throw new HubError('settings_read_only', `"${name}" of this ${place.kind} is stated in the settings file`, {
      hint: `Change "${name}" of its entry in the settings file.`,
    })
  }

  /** The fields of a server, and the settings that the file states for it, whose plugins do not run. */
  closedFields({ serverFields }: Transports, { id, transport, config }: ServerRecord): readonly ClosedField[] {
    const stated = this.#stated.size === 0 ? [] : this.names('server')
    const off = stated.filter(name => !this.#running.has(name) && this.isStated(name, { kind: 'server', id }))
    return [...serverFields.closed(transport, config), ...off.map(field => ({ field, plugin: this.pluginOf(field) }))]
  }
}

/** Name of the settings of one thing. */
export function placeKey(name: string, { kind, id }: Place): string {
  return `${name} ${kind}:${id}`
}
