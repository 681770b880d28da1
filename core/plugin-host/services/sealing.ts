import type { PluginSealing } from '../../features/services/sealing.ts'
import type { Sealer } from '../../secrets/seal.ts'
import { sealedPlace, tablePrefix } from '../../store/plugin-tables.ts'

/** Seals texts for one plugin. */
export function pluginSealing(plugin: string, sealer: () => Sealer): PluginSealing {
  const purposeOf = (purpose: string): string => `plugin ${plugin}: ${purpose}`
  const place = (table: string, row: Parameters<PluginSealing['seal']>[1]) =>
    sealedPlace({ ...row, table: `${tablePrefix(plugin)}${table}` })
  return {
    seal(table, row, text) {
      const { purpose, context } = place(table, row)
      return sealer().seal(purpose, context, text)
    },
    open(table, row, sealed) {
      const { purpose, context } = place(table, row)
      return sealer().open(purpose, context, sealed)
    },
    token: (purpose, value) => sealer().sealTokenBytes(purposeOf(purpose), value),
    openToken: (purpose, token) => sealer().openTokenBytes(purposeOf(purpose), token),
    keys: purpose => sealer().derive(purposeOf(purpose)),
  }
}
