import type { PluginContext } from 'patchbay/contract'
import type { Turns } from '../turns.ts'
import { type GroupsClaim, groupsOf, groupsProblem } from './groups.ts'
import type { Provider } from './provider.ts'

/** Users whose last groups are remembered. */
const MOST_SEEN = 10_000
/** Time after which a full team is tried again, in milliseconds. */
const FULL_MS = 60_000

/** The last groups of a user that counted. */
interface Seen {
  /** When the provider said so, in seconds. */
  readonly atS: number
  readonly groups: string
  readonly fullUntilMs: number
}

/** Sets teams by what providers say of their users. */
export class TeamsBySignIn {
  readonly #context: Pick<PluginContext<unknown>, 'signIns' | 'log'>
  readonly #turns: Turns
  readonly #providers: readonly Provider[]
  readonly #seen = new Map<string, Seen>()
  readonly #noted = new Set<string>()

  constructor(context: Pick<PluginContext<unknown>, 'signIns' | 'log'>, turns: Turns, providers: Iterable<Provider>) {
    this.#context = context
    this.#turns = turns
    this.#providers = [...providers]
  }

  /**
   * Sets the user's teams of a provider. `issuedS`: when the provider made a token that says so, which counts only while nothing
   * newer was said, since a token is sent many times. Absent: a sign-in just now.
   */
  async set(userId: string, provider: string, claim: GroupsClaim | undefined, issuedS?: number): Promise<void> {
    if (!claim) return
    this.#note(provider, claim)
    const groups = groupsOf(claim)
    if (groups) await this.#set(userId, provider, groups, issuedS)
  }

  /** Ends the user's membership in the teams of the provider of an account. */
  async unlinked(userId: string, { provider, issuer }: { readonly provider: string; readonly issuer: string }) {
    for (const one of new Set([provider, this.providerOf(issuer)])) await this.#set(userId, one, [])
  }

  /** The name by which teams name the provider of an account: its id here, else the whole address of its issuer. */
  providerOf(issuer: string): string {
    return this.#providers.find(provider => provider.issuer === issuer)?.config.id ?? issuer
  }

  /**
   * Empties the teams of providers of this plugin that the settings name no more, and those of issuers that have become a provider
   * here and are named by its id.
   */
  async endOthers(forwarded: string | undefined): Promise<void> {
    const known = new Set([forwarded, ...this.#providers.map(({ config }) => config.id)])
    const isOver = (name: string) => (name.includes('://') ? this.providerOf(name) !== name : !known.has(name))
    await this.#context.signIns.endTeams(isOver)
  }

  #set(userId: string, provider: string, groups: readonly string[], issuedS?: number): Promise<void> {
    const key = JSON.stringify([provider, userId])
    return this.#turns.take(`teams ${key}`, async () => {
      const nowS = Math.floor(Date.now() / 1_000)
      const text = JSON.stringify(groups.toSorted())
      const seen = this.#seen.get(key)
      if (seen && issuedS !== undefined && isOver(seen, text, Math.min(issuedS, nowS))) return
      const { full } = await this.#context.signIns.setTeams(userId, provider, groups)
      const atS = issuedS === undefined ? nowS : Math.min(issuedS, nowS)
      this.#keep(key, { atS, groups: text, fullUntilMs: full.length > 0 ? Date.now() + FULL_MS : 0 })
      if (full.length > 0)
        this.#context.log.warn('Teams have no room for a user who signed in', { provider, teams: full })
    })
  }

  #keep(key: string, seen: Seen): void {
    this.#seen.delete(key)
    for (const oldest of this.#seen.keys()) {
      if (this.#seen.size < MOST_SEEN) break
      this.#seen.delete(oldest)
    }
    this.#seen.set(key, seen)
  }

  /** Logs once for each provider and reason. */
  #note(provider: string, claim: GroupsClaim): void {
    const problem = groupsProblem(claim)
    if (problem === undefined || this.#noted.has(`${provider} ${problem}`)) return
    this.#noted.add(`${provider} ${problem}`)
    this.#context.log.warn(`The provider "${provider}" ${problem}`)
  }
}

/** True for groups that something newer has replaced, and for those of a full team. */
function isOver({ atS, groups, fullUntilMs }: Seen, text: string, issuedS: number): boolean {
  return issuedS < atS || (issuedS === atS && text !== groups) || (text === groups && Date.now() < fullUntilMs)
}
