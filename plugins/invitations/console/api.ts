import { api, segment } from 'patchbay/console'

/** A role that an invitation gives. */
export type InvitedRole = 'use' | 'see' | 'change'

/** A server or group that is given. */
export interface InvitedThing {
  readonly kind: 'server' | 'group'
  readonly ref: string
  readonly name: string
}

/** The things and the role that an invitation gives. */
export interface Offer {
  readonly by: string
  readonly role: InvitedRole
  readonly things: readonly InvitedThing[]
  readonly expiresAt: string
}

/** An invitation of the user. */
export interface Invitation {
  readonly id: string
  readonly things: readonly InvitedThing[]
  readonly role: InvitedRole
  readonly uses: number
  readonly used: number
  readonly acceptedBy: readonly string[]
  readonly expiresAt: string
}

/** A new invitation. */
export interface NewInvitation {
  readonly things: readonly { readonly kind: string; readonly ref: string }[]
  readonly role: string
  readonly uses: number
  readonly expires: string
}

/** Invitations. */
export const invitationsApi = {
  list: (signal: AbortSignal) => api.get<{ readonly items: readonly Invitation[] }>('/api/invitations', { signal }),
  create: (body: NewInvitation) =>
    api.post<{ readonly id: string; readonly url: string }>('/api/invitations', { body }),
  remove: (id: string) => api.delete(`/api/invitations/${segment(id)}`),
  preview: (token: string) => api.post<Offer>('/api/invitations/preview', { body: { token } }),
  accept: (token: string) => api.post<Offer>('/api/invitations/accept', { body: { token } }),
}
