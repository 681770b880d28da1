import type { FieldError, PluginTables } from 'patchbay/contract'
import type { PluginSealing } from 'patchbay/features'
import { looksMasked, maskSecret, validationError } from 'patchbay/plugin-kit'
import type { Places } from './filter.ts'
import type { Findings } from './findings.ts'
import { isSigningSecret, type Rule, rules as rulesSchema } from './rules.ts'
import type { GuardTables, RuleSetRow } from './tables.ts'
import type { Place } from './types.ts'

const TABLE = 'rule_set'
/** Beside the secrets of webhooks, by rule: no rule has this id. */
const OWNER = '$owner'
/** The same, present when an administrator saved them for an administrator. */
const BY_ADMIN = '$admin'

/** The owner of the server or group when its rules are saved. `isByAdmin`: this is an administrator, and one saves them. */
export interface Saver {
  readonly ownerId: string
  readonly isByAdmin: boolean
}
/** Longest text of the rules of one server or group. */
const MOST_CHARACTERS = 16 * 1024

/** A server or group that has rules. */
export interface Target {
  readonly kind: 'server' | 'group'
  readonly id: string
}

/** The rules of the hub, and of all servers and groups that have some, in memory and in the table. */
export class RuleSets implements Places {
  readonly #tables: PluginTables<GuardTables>
  readonly #sealing: PluginSealing
  readonly #findings: Findings
  readonly #hub: Place | undefined
  readonly #places = new Map<string, Place>()

  constructor(tables: PluginTables<GuardTables>, sealing: PluginSealing, findings: Findings, ofHub: readonly Rule[]) {
    this.#tables = tables
    this.#sealing = sealing
    this.#findings = findings
    this.#hub = ofHub.length > 0 ? { key: 'hub', rules: ofHub } : undefined
  }

  /** Reads the table, before the first request. */
  async load(): Promise<void> {
    for (const row of await this.#tables.read(db => db.selectFrom(TABLE).selectAll().execute())) {
      const place = this.#placeOf(row)
      this.#places.set(place.key, place)
    }
  }

  of(serverId: string, groupId: string | undefined): readonly Place[] {
    const server = this.#places.size > 0 ? this.#places.get(`server ${serverId}`) : undefined
    const group = groupId === undefined || this.#places.size === 0 ? undefined : this.#places.get(`group ${groupId}`)
    if (!server && !group) return this.#hub ? [this.#hub] : NONE
    return [this.#hub, group, server].filter(place => place !== undefined)
  }

  get hub(): readonly Rule[] {
    return this.#hub?.rules ?? []
  }

  rules({ kind, id }: Target): readonly Rule[] {
    return this.#places.get(`${kind} ${id}`)?.rules ?? []
  }

  /**
   * Replaces the present rules. A secret that is sent as its mask is kept as long as the address of its webhook is the same.
   * `tables`: tables within a transaction that this write belongs to.
   */
  async replace(
    target: Target,
    given: readonly Rule[],
    { ownerId, isByAdmin }: Saver,
    tables = this.#tables,
  ): Promise<void> {
    const key = `${target.kind} ${target.id}`
    const before = this.rules(target)
    const rules = withSecrets(given, before)
    const secrets = Object.fromEntries(rules.flatMap(({ id, webhook }) => (webhook ? [[id, webhook.secret]] : [])))
    const text = JSON.stringify(rules.map(withoutSecret))
    requireShort(text)
    const place = { id: target.id, user_id: null }
    const hasWebhooks = Object.keys(secrets).length > 0
    const sealed = hasWebhooks
      ? this.#sealing.seal(
          TABLE,
          place,
          JSON.stringify({ ...secrets, [OWNER]: ownerId, ...(isByAdmin ? { [BY_ADMIN]: 'yes' } : {}) }),
        )
      : null
    const owner =
      target.kind === 'server' ? { server_id: target.id, group_id: null } : { server_id: null, group_id: target.id }
    await tables.write(async (db, after) => {
      await db.deleteFrom(TABLE).where('id', '=', target.id).execute()
      if (rules.length > 0)
        await db
          .insertInto(TABLE)
          .values({ ...place, ...owner, rules: text, sealed })
          .execute()
      after(() => {
        const saver = hasWebhooks ? { webhooksOf: ownerId, isByAdmin } : {}
        if (rules.length > 0) this.#places.set(key, { key, rules, ...saver })
        else this.#places.delete(key)
        const same = before.filter(one => rules.some(other => JSON.stringify(other) === JSON.stringify(one)))
        this.#findings.forget(key, new Set(same.map(({ id }) => id)))
      })
    })
  }

  /** The server or group is gone. */
  removed({ kind, id }: Target): void {
    this.#places.delete(`${kind} ${id}`)
    this.#findings.forget(`${kind} ${id}`)
  }

  #placeOf(row: RuleSetRow): Place {
    const key = row.server_id === null ? `group ${row.group_id}` : `server ${row.server_id}`
    const secrets: Readonly<Record<string, string>> =
      row.sealed === null
        ? {}
        : (JSON.parse(this.#sealing.open(TABLE, { id: row.id, user_id: null }, row.sealed)) as Record<string, string>)
    const stored = JSON.parse(row.rules) as Rule[]
    const whole = stored.map(one =>
      one.webhook ? { ...one, webhook: { ...one.webhook, secret: secrets[one.id] ?? '' } } : one,
    )
    const { [OWNER]: webhooksOf, [BY_ADMIN]: byAdmin } = secrets
    const saver = webhooksOf === undefined ? {} : { webhooksOf, isByAdmin: byAdmin !== undefined }
    return { key, rules: rulesSchema.parse(whole), ...saver }
  }
}

const NONE: readonly Place[] = Object.freeze([])

/** A rule as it is shown: with a mask in place of its secret. */
export function shownRule(rule: Rule): Rule {
  return rule.webhook ? { ...rule, webhook: { ...rule.webhook, secret: maskSecret(rule.webhook.secret) } } : rule
}

/** Throws `validation_failed` for rules that are too long together. */
export function requireShort(text: string): void {
  if (text.length <= MOST_CHARACTERS) return
  const detail = `All rules together have at most ${MOST_CHARACTERS} characters`
  throw validationError([{ pointer: '#/rules', code: 'length', detail }])
}

/** A rule without its secret. */
export function withoutSecret(rule: Rule): Rule {
  return rule.webhook ? { ...rule, webhook: { ...rule.webhook, secret: '' } } : rule
}

/** The rules with the secrets that stand behind masks. Throws `validation_failed`. */
export function withSecrets(given: readonly Rule[], before: readonly Rule[]): Rule[] {
  const errors: FieldError[] = []
  const rules = given.map((rule, index) => {
    const { webhook } = rule
    if (!webhook) return rule
    const pointer = `#/rules/${index}/webhook/secret`
    const kept = before.find(({ id }) => id === rule.id)?.webhook
    if (looksMasked(webhook.secret)) {
      if (kept && kept.url === webhook.url) return { ...rule, webhook: { ...webhook, secret: kept.secret } }
      errors.push({ pointer, code: 'secret_required', detail: 'The address is another one: enter the secret again' })
    } else if (!isSigningSecret(webhook.secret))
      errors.push({ pointer, code: 'format', detail: 'A secret is "whsec_" and base64 of 24 to 64 bytes' })
    return rule
  })
  if (errors.length > 0) throw validationError(errors)
  return rules
}
