/** An account at an issuer. */
export interface ExternalAccount {
  readonly issuer: string
  readonly subject: string
}

/** Knows which users have which accounts at issuers. */
export interface ExternalAccounts {
  /** The id of the user who has linked the account. Undefined: nobody has. */
  find(account: ExternalAccount): Promise<string | undefined>
  /** The user of the account, who is made with a name like this one unless there is one. */
  create(account: ExternalAccount, name: string): Promise<string>
  /** Sets the user's teams by the claim of this name, or at this JSON Pointer, of a token of the issuer. */
  setTeams(userId: string, issuer: string, name: string, claims: Readonly<Record<string, unknown>>): Promise<void>
  /** The name by which teams name an issuer. */
  providerOf(issuer: string): string
  /** Calls `listener` with each account that a user unlinks, until the returned function is called. */
  onUnlinked(listener: (account: ExternalAccount) => void): () => void
}

declare module 'patchbay/contract' {
  interface ExtensionPoints {
    externalAccounts: ExternalAccounts
  }
}
