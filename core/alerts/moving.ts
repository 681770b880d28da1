import type { JsonObject } from '../contract/json.ts'
import type { Actor } from '../contract/records.ts'
import type { MovingRecords } from '../registry/owned/moving.ts'
import { OwnedSettings } from '../registry/owned/settings.ts'
import type { Sealer } from '../secrets/seal.ts'
import type { Store } from '../store/open.ts'
import { CHANNELS, type ChannelTypes, movingChannel, prepareChannel } from './channels.ts'
import type { AlertFacts } from './facts.ts'
import { endIncidents } from './incidents.ts'
import { checkChannels, prepareRule, RULES, ruleView } from './rules.ts'

/** Dependencies of moving rules and channels. */
export interface MovingAlertsDeps {
  /** A transaction's. */
  readonly store: Store
  readonly sealer: Sealer
  readonly types: () => ChannelTypes
  /** Networks (CIDR) that all users may connect to. */
  readonly outboundAllow: readonly string[]
  readonly facts: Pick<AlertFacts, 'unavailable'>
  /** Run after a rule, or a channel, was written. */
  readonly changed: () => void
  readonly released: () => void
}

/** Channels and rules as they move between hubs. A rule is checked against the channels of the transaction. */
export function movingAlerts(deps: MovingAlertsDeps): readonly MovingRecords[] {
  const { store, sealer, facts } = deps
  // Removing a rule creates messages that its alerts have ended.
  const rules = new OwnedSettings(store, RULES, () => {
    deps.changed()
    deps.released()
  })
  const channels = new OwnedSettings(store, CHANNELS, deps.released)
  return [
    {
      kind: CHANNELS,
      settings: channels,
      open: async (setting, keep): Promise<JsonObject> => movingChannel(setting, sealer, keep),
      prepare: async (actor, _owner, body) => prepareChannel(actor, body, deps),
      remove: (actor, ref) => channels.remove(actor, ref, async () => undefined),
    },
    {
      kind: RULES,
      settings: rules,
      open: async setting => ruleView(setting),
      async prepare(actor, owner, body) {
        const prepare = prepareRule(body, facts)
        const named = isOwn(actor, owner) ? undefined : owner.name
        const known = (await channels.list(actor, named)).map(({ name }) => name)
        checkChannels(body, known)
        return prepare
      },
      remove: (actor, ref) => rules.remove(actor, ref, (trx, { id }) => endIncidents(trx, id)),
      renamed(body, { nameOf }) {
        if (!Array.isArray(body.channels)) return body
        const channels = body.channels.map(name => (typeof name === 'string' ? nameOf(CHANNELS.kind, name) : name))
        return { ...body, channels }
      },
    },
  ]
}

function isOwn(actor: Actor, owner: { readonly id: string }): boolean {
  return actor.kind === 'user' && actor.userId === owner.id
}
