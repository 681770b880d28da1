import type { Alerts } from '../alerts/create.ts'
import type { Assistant } from '../assistant/create.ts'
import type { SettingsFile } from '../config/settings-file.ts'
import type { FieldError } from '../contract/errors.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { Dashboards } from '../dashboards/dashboards.ts'
import type { EventBus } from '../events/bus.ts'
import type { FileEntry, FileProblem } from '../registry/owned/mirror.ts'
import type { AddedKind, OpenKinds } from '../registry/owned/open-kinds.ts'

/** Dependencies of following the sections about alerts, dashboards and assistants. */
export interface FileMonitoringParts {
  readonly settings: Pick<SettingsFile, 'state'>
  readonly alerts: Pick<Alerts, 'mirror'>
  readonly dashboards: Pick<Dashboards, 'mirror'>
  readonly assistant: Pick<Assistant, 'mirror'>
  readonly kinds: Pick<OpenKinds, 'added'>
  readonly bus: Pick<EventBus, 'on'>
  readonly log: PluginLogger
}

/** The followed sections. */
export interface FileMonitoring {
  /** Errors in these sections; the pointers are places in the file. */
  problems(): readonly FieldError[]
  end(): Promise<void>
}

/**
 * Mirrors the rules, channels, dashboards, assistant endpoints and plugins' records of the settings file: now, after each valid
 * edit, and when a plugin starts or stops, which may add a kind of channel or record. While there are errors, also after a new user, group or server, which
 * the entries may name. An error is logged once, until it changes, and can be read by `problems`.
 */
export async function followFileMonitoring(parts: FileMonitoringParts): Promise<FileMonitoring> {
  const { settings, alerts, dashboards, assistant, kinds, bus, log } = parts
  let logged = ''
  let found: readonly FieldError[] = []
  const mirror = async (): Promise<void> => {
    const { problems } = await alerts.mirror(settings.state.alerts)
    const mirrored = await dashboards.mirror(settings.state.dashboards)
    const endpoints = await assistant.mirror(settings.state.assistant)
    const records = await mirrorRecords(kinds.added(), settings.state.records)
    found = [...problems, ...mirrored.problems, ...endpoints.problems, ...records].flatMap(({ errors }) => errors)
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

/** Records of the plugins that run; those of others stay as they are, and are reported. */
async function mirrorRecords(
  kinds: readonly AddedKind[],
  entries: ReadonlyMap<string, readonly FileEntry[]>,
): Promise<readonly FileProblem[]> {
  const problems: FileProblem[] = []
  for (const { kind, mirror } of kinds) problems.push(...(await mirror(entries.get(kind.kind) ?? [])).problems)
  const known = new Set(kinds.map(({ kind }) => kind.kind))
  for (const [kind, [first]] of entries) {
    if (known.has(kind) || !first) continue
    const pointer = first.pointer.replace(/\/\d+$/, '')
    const detail = `No plugin that runs has records of the kind ${JSON.stringify(kind.slice(0, 98))}`
    problems.push({ entry: pointer, errors: [{ pointer, code: 'enum', detail }] })
  }
  return problems
}
