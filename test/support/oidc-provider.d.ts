/** The parts of oidc-provider that tests use; the package has no declarations. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  interface Context {
    readonly path: string
    status: number
    body: unknown
    readonly oidc?: { readonly params?: Readonly<Record<string, unknown>> }
  }
  interface Token {
    readonly isValid: boolean
    readonly accountId: string
    readonly grantId: string
  }
  interface Kept {
    destroy(): Promise<void>
  }

  export default class Provider {
    constructor(issuer: string, configuration: object)
    use(middleware: (context: Context, next: () => Promise<void>) => Promise<void>): void
    callback(): RequestListener
    readonly AccessToken: { find(token: string): Promise<Token | undefined> }
    readonly Grant: { find(id: string): Promise<Kept | undefined> }
    readonly RefreshToken: { revokeByGrantId(id: string): Promise<void> }
  }
}
