declare module '../contract/points.ts' {
  interface ExtensionPoints {
    headerProvider: HeaderProvider
  }
}

/** Adds headers when the hub connects to a server. A configured header of the same name wins; core ensures that. */
export interface HeaderProvider {
  /** A connection with a header of this provider follows no redirect at all; else only within the origin. */
  readonly redirects?: 'none'
  headersFor(
    server: Readonly<Record<'id' | 'ownerId' | 'transport' | 'url', string>>,
  ): Promise<Readonly<Record<string, string>>>
}
