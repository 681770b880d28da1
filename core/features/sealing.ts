declare module '../contract/plugin.ts' {
  interface PluginContext<Config> {
    /** In the main thread alone. */
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
