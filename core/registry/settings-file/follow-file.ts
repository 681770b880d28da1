import type { SettingsFile } from '../../config/settings-file.ts'
import type { SettingsState } from '../../config/shape/settings.ts'
import type { PluginLogger } from '../../contract/plugin.ts'
import type { OpenTransports } from '../../domain/server/transports.ts'
import type { EventBus } from '../../events/bus.ts'
import type { FileMirror } from '../api.ts'
import type { OpenAttached } from '../attached.ts'

/** Dependencies of following the settings file. */
export interface FollowOptions {
  readonly settings: Pick<SettingsFile, 'state' | 'path' | 'watch'>
  readonly mirror: FileMirror
  readonly transports: Pick<OpenTransports, 'onAdded'>
  readonly attached: Pick<OpenAttached, 'onAdded'>
  readonly bus: EventBus
  readonly log: PluginLogger
}

/**
 * Mirrors the settings file into the store, now and after every valid edit, in order. An invalid edit changes nothing: it is
 * logged and emitted as `config.rejected`. The settings file's own `dispose` ends the watch. When a transport is added, or a plugin
 * with settings beside things has started, the file is mirrored again, since its entries can be read then.
 */
export async function followSettingsFile({
  settings,
  mirror,
  transports,
  attached,
  bus,
  log,
}: FollowOptions): Promise<void> {
  const apply = async (state: SettingsState): Promise<readonly string[]> => {
    const { applied, problems } = await mirror.apply(state.file)
    for (const { entry, errors } of problems) {
      const details = errors.map(error => `${error.pointer}: ${error.detail}`).join('; ')
      log.warn(`The entry ${entry} of the settings file cannot be used: ${details}`)
    }
    return applied
  }
  await apply(settings.state)

  let last: Promise<void> = Promise.resolve()
  settings.watch(
    state => {
      last = last
        .then(async () => {
          for (const warning of state.warnings) log.warn(warning)
          const applied = await apply(state)
          log.info('The settings file was edited', { applied })
          bus.emit('config.changed', null, { source: 'file', applied })
        })
        .catch(error => log.error('An edit of the settings file could not be applied; the old state stays', { error }))
    },
    error => {
      const { message, line, column } = error
      log.error(`The settings file was not taken; the old state stays in force: ${message}`)
      bus.emit('config.rejected', null, {
        source: 'file',
        message,
        ...(line === undefined ? {} : { line }),
        ...(column === undefined ? {} : { column }),
      })
    },
  )
  const again = (): void => {
    last = last
      .then(async () => void (await apply(settings.state)))
      .catch(error => log.error('The settings file could not be mirrored again; the old state stays', { error }))
  }
  transports.onAdded(again)
  attached.onAdded(again)
}
