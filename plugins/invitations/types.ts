/** A server or group that an invitation gives. */
export interface InvitedThing {
  readonly kind: 'server' | 'group'
  readonly id: string
}

/** A role that an invitation gives. */
export type InvitedRole = 'use' | 'see' | 'change'

declare module 'patchbay/contract' {
  interface ErrorCodes {
    invitation_unknown: never
    invitation_expired: never
    invitation_used: never
    invitation_limit: never
  }
}
