declare module '../../contract/plugin.ts' {
  interface PluginContext<Config> {
    /** In the main thread alone. */
    readonly secrets: PluginSecrets
    readonly sealing: PluginSealing
  }
}

/** Seals texts with the hub's key, which the plugin never sees. */
export interface PluginSealing {
  /**
   * For the column `sealed` of a row of the plugin's table, which has `id` and `user_id`: it opens at this place alone, and
   * `secrets reseal` replaces it after a change of the key.
   */
  seal(table: string, row: SealedRow, text: string): string
  /** Throws `config_invalid` for a text of another place or key. */
  open(table: string, row: SealedRow, sealed: string): string
  /** A short text, base64url, that only this plugin of this hub makes. `purpose`: one kind is never taken for another. */
  token(purpose: string, value: Uint8Array): string
  openToken(purpose: string, token: string): Uint8Array | undefined
  /** 32 bytes made from each of the hub's keys, the present one first: for signatures that nobody else checks. */
  keys(purpose: string): readonly { readonly kid: string; readonly key: Uint8Array }[]
}

/** The row that holds a sealed text. `user_id`: its owner, or null. */
export type SealedRow = Readonly<{ id: string; user_id: string | null }>

/** A secret as it may be shown. */
export interface SecretInfo {
  /** Its last characters; empty for a short one. */
  readonly last4: string
  /** ISO 8601 UTC. */
  readonly setAt: string
}

/** One secret, which is stored sealed. Keys have letters, digits, `_` and `-`, at most 64. */
export interface SecretPlace {
  /** Null removes it. */
  put(value: string | null): Promise<void>
  open(): Promise<string | undefined>
  describe(): Promise<SecretInfo | undefined>
}

/** Secrets of the plugin: no other plugin and no route reads them. Those of a user are gone with the user. */
export interface PluginSecrets {
  hub(key: string): SecretPlace
  user(userId: string, key: string): SecretPlace
}
