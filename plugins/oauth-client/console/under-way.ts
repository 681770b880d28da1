const KEY = 'patchbay.connect'

/** The server at which this tab has begun to sign in, by its id. */
export const underWay = {
  set: (serverId: string): void => sessionStorage.setItem(KEY, serverId),
  /** Undefined when the sign-in began in another tab. */
  get: (): string | undefined => sessionStorage.getItem(KEY) ?? undefined,
  clear: (): void => sessionStorage.removeItem(KEY),
}
