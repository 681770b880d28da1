import { hubSettings as logDatabase } from '../../plugins/log-database/hub-settings.ts'
import { hubSettings as market } from '../../plugins/market/hub-settings.ts'
import { type ConfigLayer, type Environment, readEnvironment } from '../config/env.ts'
import { type KnownSettings, knownSettings } from '../config/known-settings.ts'
import type { HubSettingKinds } from '../features/services/hub-settings.ts'

/** The settings of the hub that bundled plugins define, by key; they are read before plugins are loaded. */
export const BUNDLED_SETTINGS: HubSettingKinds = { ...logDatabase, ...market }

/** All settings of the hub. */
export const HUB_SETTINGS: KnownSettings = knownSettings(BUNDLED_SETTINGS)

/** Keys of settings whose changes hold at once. */
export const LIVE_SETTINGS: ReadonlySet<string> = new Set(
  Object.entries(BUNDLED_SETTINGS).flatMap(([key, { live }]) => (live ? [key] : [])),
)

/** Reads all variables of the hub, those of bundled plugins included. Throws as `readEnvironment`. */
export function readHubEnvironment(env: Environment): ConfigLayer {
  return readEnvironment(env, HUB_SETTINGS)
}
