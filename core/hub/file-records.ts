import type { SettingsFile } from '../config/settings-file.ts'
import type { FileRecords } from '../config/shape/sections.ts'
import type { FieldError } from '../contract/errors.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { EventBus } from '../events/bus.ts'
import type { FileProblem, Mirrored } from '../registry/owned/mirror.ts'
import type { OpenKinds } from '../registry/owned/open-kinds.ts'

/** Stores the records of the settings file that are of a feature's kinds. */
export interface RecordMirror {
  mirror(file: FileRecords): Promise<Mirrored>
}

/** Dependencies of following the sections with records. */
export interface FileRecordsParts {
  readonly settings: Pick<SettingsFile, 'state'>
  /** Records of the features, in the order in which they are read. */
  readonly mirrors: readonly RecordMirror[]
  /** Has the kinds of plugins, whose records come last. */
  readonly kinds: Pick<OpenKinds, 'all' | 'added'>
  readonly bus: Pick<EventBus, 'on'>
  readonly log: PluginLogger
}

/** The followed sections. */
export interface FollowedRecords {
  /** Errors in these sections; the pointers are places in the file. */
  problems(): readonly FieldError[]
  end(): Promise<void>
}

/**
 * Mirrors the records of the settings file: now, after each valid edit, and when a plugin starts or stops, which may add a kind of
 * record, or what records need. While there are errors, also after a new user, group or server, which the entries may name. An
 * error is logged once, until it changes, and can be read by `problems`.
 */
export async function followFileRecords(parts: FileRecordsParts): Promise<FollowedRecords> {
  const { settings, mirrors, kinds, bus, log } = parts
  let logged = ''
  let found: readonly FieldError[] = []
  const mirror = async (): Promise<void> => {
    const { records } = settings.state
    const problems: FileProblem[] = []
    for (const one of [...mirrors, ...kinds.added()]) problems.push(...(await one.mirror(records)).problems)
    found = [...problems, ...unknownKinds(kinds, records)].flatMap(({ errors }) => errors)
    const lines = found.map(({ pointer, detail }) => `${pointer}: ${detail}`)
    if (lines.join('\n') !== logged) for (const line of lines) log.warn(`The settings file cannot be used at ${line}`)
    logged = lines.join('\n')
  }
  await mirror()
  let running: Promise<void> | undefined
  let isStale = false
  const mirrorWhileStale = async (): Promise<void> => {
    while (isStale) {
      isStale = false
      try {
        await mirror()
      } catch (error) {
        log.error('Sections of the settings file could not be mirrored; the old state stays', { error })
      }
    }
    running = undefined
  }
  // Many plugins that change together are one change.
  const changed = (): void => {
    isStale = true
    running ??= mirrorWhileStale()
  }
  const named = (): void => {
    if (found.length > 0) changed()
  }
  const unlisten = [
    ...[bus.on('config.changed', changed), bus.on('plugin.changed', changed)],
    ...[bus.on('user.created', named), bus.on('group.created', named), bus.on('server.created', named)],
  ]
  return {
    problems: () => found,
    async end() {
      for (const stop of unlisten) stop()
      await running
    },
  }
}

/** Records of plugins that do not run stay as they are, and are reported. */
function unknownKinds(kinds: Pick<OpenKinds, 'all'>, records: FileRecords): readonly FileProblem[] {
  const known = new Set(kinds.all().map(({ kind }) => kind))
  return [...records].flatMap(([kind, [first]]) => {
    if (known.has(kind) || !first) return []
    const pointer = first.pointer.replace(/\/\d+$/, '')
    const detail = `No plugin that runs has records of the kind ${JSON.stringify(kind.slice(0, 98))}`
    return [{ entry: pointer, errors: [{ pointer, code: 'enum' as const, detail }] }]
  })
}
