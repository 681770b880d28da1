import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ProgramSource } from '../../features/programs.ts'
import type { ProgramKind } from '../../features/services/main-thread.ts'
import { quoteName } from '../names.ts'

/** Read-only folder of a stored program inside the sandbox. */
export const PROGRAM_FOLDER = '/opt/package'

/** A program that a configuration of a process names. */
export interface StoredProgram {
  /** The member of the configuration. */
  readonly field: string
  readonly id: string
  /** The plugin that stores it. */
  readonly plugin: string
  /** The folder in the data folder where it is unpacked. */
  readonly folder: string
}

interface ProgramField extends ProgramKind {
  readonly plugin: string
}

/** The members of configurations that name programs, of all plugins that come with the hub, and the sources of those that run. */
export class OpenPrograms {
  readonly #fields = new Map<string, ProgramField>()
  readonly #sources = new Map<string, ProgramSource>()
  readonly #listeners: (() => void)[] = []

  /** A plugin's members, whether the plugin runs or not. */
  declare(plugin: string, fields: Readonly<Record<string, ProgramKind>>): void {
    for (const [field, kind] of Object.entries(fields)) this.#fields.set(field, { plugin, ...kind })
    this.#changed()
  }

  /** Throws Error for a member that the plugin has not declared. */
  add(plugin: string, field: string, source: ProgramSource): void {
    if (this.#fields.get(field)?.plugin !== plugin)
      throw new Error(`programSource "${field}": the plugin’s definition has no such member in "programs"`)
    this.#sources.set(field, source)
    this.#changed()
  }

  remove(field: string): void {
    this.#sources.delete(field)
    this.#changed()
  }

  /** Calls back whenever members or sources have changed. */
  onChanged(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** The schemas of all members, or of those whose plugin runs. */
  schemas(which: 'all' | 'running'): Readonly<Record<string, JsonObject>> {
    const found = [...this.#fields].filter(([field]) => which === 'all' || this.#sources.has(field))
    return Object.fromEntries(found.map(([field, { schema }]) => [field, schema]))
  }

  /** The folders in the data folder where programs are unpacked, of plugins that run. */
  folders(): readonly string[] {
    return [...this.#fields].filter(([field]) => this.#sources.has(field)).map(([, { folder }]) => folder)
  }

  /** The program that a configuration of a process runs. */
  of(config: JsonObject): StoredProgram | undefined {
    for (const [field, { plugin, folder }] of this.#fields) {
      const id = config[field]
      if (typeof id === 'string' && id !== '') return { field, id, plugin, folder }
    }
    return undefined
  }

  /** Throws `program_unavailable` while the plugin does not run that stores the program. */
  source({ field, plugin }: StoredProgram): ProgramSource {
    const found = this.#sources.get(field)
    if (found) return found
    throw new HubError(
      'program_unavailable',
      `The plugin ${quoteName(plugin)} stores the program of the server ("${field}"), and does not run`,
    )
  }

  #changed(): void {
    for (const listener of this.#listeners) listener()
  }
}
