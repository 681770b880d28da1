import type { t } from '../text/t.ts'
import type { AskedProof } from './session.ts'

/** Parts of the rail, from top to bottom; plugins' pages precede administration. */
export type RailPart = 'work' | 'watch' | 'own' | 'admin'

/** A number beside the link of a place: things that wait for the user. It is read with the console, and again after events. */
export interface PlaceCount {
  /** Route whose answer has the number. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | number>>
  /** Name of the member of the answer. */
  readonly member: string
  /** Beginning of the names of the plugin's events that may change it. */
  readonly events: string
  /** The number in words. */
  readonly label: (count: number) => string
}

/** A page of the console. */
export interface PlaceDefinition {
  readonly id: string
  /** Paths below the base path, the first without parameters being its link: `/servers`, `/servers/:ref`. */
  readonly paths: readonly string[]
  readonly title: () => string
  readonly icon: string
  /** Absent: reached by links alone. */
  readonly rail?: RailPart
  /** Position among the places of the same part of the rail, the smallest first; default 0. */
  readonly order?: number
  /** The place in the rail that is marked instead of this one. */
  readonly within?: string
  readonly adminOnly?: true
  /** Id of the plugin's contribution to `builtPage` with which the page is open. Default the place's own id. */
  readonly page?: string
  /** It is shown without the frame, as the end of a link from elsewhere. */
  readonly isBare?: true
  /** It is shown also to a user who is not signed in. */
  readonly isPublic?: true
  /** Shown unless it is 0. */
  readonly count?: PlaceCount
  /** Second key behind `g`. */
  readonly key?: string
  /** Name of the page's element. */
  readonly element: string
  readonly load: () => Promise<unknown>
}

/** The thing of which a piece shows a part: the element of the piece gets it as the property `subject`. */
export interface PieceSubject {
  readonly kind: 'server' | 'group' | 'key' | 'grant' | 'user'
  /** Owner and name of a server or group, such as `ann~notes`; the id of a key or of a client that a user has agreed to (`grant`), the name of a user. */
  readonly ref: string
  readonly name: string
}

/**
 * A part of one of the console's own pages that a plugin has: a way to add servers, a section of one's own settings, rules of a
 * server, a group, an access key or a client (`grant`) for its owner, or of a user for administrators, the question of who the user is (`proof`), or the page of a user who must set a
 * second factor (`factor-gate`).
 */
export interface Piece {
  readonly slot: 'add-server' | 'settings' | `${PieceSubject['kind']}-rules` | 'proof' | 'factor-gate'
  readonly id: string
  readonly title: () => string
  /** Id of the plugin's contribution to `builtPage` with which the piece is open. */
  readonly page: string
  readonly element: string
  readonly load: () => Promise<unknown>
}

/** A provider with which people sign in. */
export interface Provider {
  readonly id: string
  readonly label: string
  /** True where users link accounts by themselves. */
  readonly linkable: boolean
}

/** The ways to sign in. */
export interface Ways {
  readonly items: readonly Provider[]
  /** True where the hub's address is one for passkeys. */
  readonly passkeys: boolean
  /** The users who sign in with a password. */
  readonly passwords: 'on' | 'admins' | 'off'
  /** The user whom a proxy before the hub has signed in. */
  readonly forwarded?: string
}

/** Parts of the form of a second step. */
export interface CodeForm {
  readonly asked: AskedProof
  /** True when a recovery code is entered in place of an app's code or a passkey. */
  readonly byRecovery: boolean
  readonly busy: boolean
  /** Seconds until the next attempt is allowed. */
  readonly wait: number
  readonly problem: unknown
  readonly submit: (code: string) => void
  /** Has the browser ask for a passkey. */
  readonly byPasskey: () => void
  /** Changes between recovery codes and the rest. */
  readonly other: () => void
}

/** Ways to sign in besides the password, and second steps: what the sign-in page uses of the plugin that has them. */
export interface SignInParts {
  /** The ways to sign in; passwords alone where the plugin does not run. */
  waysIn(signal?: AbortSignal): Promise<Ways>
  /** True where the browser can begin a sign-in at a provider. */
  canBegin(): boolean
  /** Leaves the console for a provider. `link`: to link an account with the user who is signed in. */
  begin(provider: string, about: { link?: true; returnTo: string }): Promise<void>
  /** True where the browser has passkeys. */
  hasPasskeys(): boolean
  /** Has the browser ask for a passkey. Throws ApiError. */
  askPasskey(about: { readonly ticket?: string; readonly reauth?: true }): Promise<object>
  /** The form of a code of an authenticator app, of a passkey, or of a recovery code. */
  codeForm(form: CodeForm): unknown
}

/** Functions for the definition of a part. It imports none, so that nothing of the plugin's pages loads before one is opened. */
export interface PartKit {
  readonly t: typeof t
}

/** The pages of one bundled plugin: what `console/mod.ts` in its folder exports. */
export interface ConsolePart {
  readonly plugin: string
  readonly places?: readonly PlaceDefinition[]
  readonly pieces?: readonly Piece[]
  readonly signIn?: () => Promise<SignInParts>
}

/** Makes the definition of a plugin's pages. */
export type MakePart = (kit: PartKit) => ConsolePart
