import type { JsonValue } from '../contract/json.ts'
import type { HubSettingKinds, HubSettingValue } from '../features/services/hub-settings.ts'
import { boolean, list, matching, oneOf, type Parser, size } from './parsers.ts'
import { VARIABLES, type Variable } from './variables.ts'

/** The settings of a hub: its own, and those that plugins define. */
export interface KnownSettings {
  readonly variables: readonly Variable[]
  /** Settings of plugins, by key. */
  readonly ofPlugins: HubSettingKinds
}

/** The settings of a hub with these ones of plugins. */
export function knownSettings(ofPlugins: HubSettingKinds): KnownSettings {
  const variables = Object.entries(ofPlugins).map(
    ([key, { variable: name, takes }]): Variable => ({
      name,
      key,
      parse: parserOf(takes),
      secret: false,
      inFile: true,
    }),
  )
  return { variables: [...VARIABLES, ...variables], ofPlugins }
}

/** The settings of the hub itself. */
export const OWN_SETTINGS: KnownSettings = knownSettings({})

/** The values of plugins' settings where no layer sets them. */
export function pluginDefaults({ ofPlugins }: KnownSettings): Readonly<Record<string, JsonValue>> {
  return Object.fromEntries(Object.entries(ofPlugins).map(([key, setting]) => [key, setting.default]))
}

function parserOf(takes: HubSettingValue): Parser<unknown> {
  switch (takes.type) {
    case 'boolean':
      return boolean()
    case 'choice':
      return oneOf(...takes.words)
    case 'list':
      return list(matching(takes.pattern, takes.wanted))
    case 'bytes':
      return size()
  }
}

/** True for a setting that is a size or a duration; its text is kept as written. */
export function isAmount(key: string, { variables }: KnownSettings = OWN_SETTINGS): boolean {
  const type = variables.find(variable => variable.key === key)?.parse.type
  return type === 'bytes' || type === 'duration'
}
