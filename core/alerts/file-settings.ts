import type { FileRecords } from '../config/shape/sections.ts'
import type { Actor } from '../contract/records.ts'
import { type Mirrored, mirrorOwned, namesOf } from '../registry/owned/mirror.ts'
import { fileOwner, ownerOf } from '../registry/owners.ts'
import type { Sealer } from '../secrets/seal.ts'
import type { Store } from '../store/open.ts'
import { write } from '../store/transact.ts'
import { CHANNELS, type ChannelTypes, channelSecrets, prepareChannel } from './channels.ts'
import type { AlertFacts } from './facts.ts'
import { endIncidents } from './incidents.ts'
import { checkChannels, prepareRule, RULES } from './rules.ts'

const FILE: Actor = { kind: 'system', purpose: 'settings file' }

/** Dependencies of mirroring. */
export interface FileSettingsDeps {
  readonly store: Store
  readonly sealer: Sealer
  readonly types: () => ChannelTypes
  readonly outboundAllow: readonly string[]
  readonly facts: Pick<AlertFacts, 'unavailable'>
}

/** Mirrors the rules and channels of the settings file for the owner of the file's entries, as `mirrorOwned` does. */
export function mirrorAlerts(deps: FileSettingsDeps, file: FileRecords): Promise<Mirrored> {
  const { store, sealer, facts } = deps
  return write(store, async trx => {
    const owner = ownerOf(await fileOwner(trx))
    const channels = await mirrorOwned(trx, owner, {
      kind: CHANNELS,
      entries: file.get(CHANNELS.kind) ?? [],
      prepare: ({ body }) => prepareChannel(FILE, body, deps),
      secrets: setting => channelSecrets(setting, sealer),
    })
    const known = await namesOf(trx, owner, CHANNELS)
    const rules = await mirrorOwned(trx, owner, {
      kind: RULES,
      entries: file.get(RULES.kind) ?? [],
      prepare({ body }) {
        const prepare = prepareRule(body, facts)
        checkChannels(body, known)
        return prepare
      },
      secrets: () => ({}),
      removing: endIncidents,
    })
    return { problems: [...channels.problems, ...rules.problems], changed: channels.changed || rules.changed }
  })
}
