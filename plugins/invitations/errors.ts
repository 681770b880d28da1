import type { ErrorKind } from 'patchbay/contract'

/** The codes of this plugin. */
export const ERRORS: Readonly<Record<string, ErrorKind>> = {
  invitation_unknown: {
    status: 404,
    title: 'There is no such invitation',
    remedy: 'Open the whole link as you got it, or ask for a new one.',
  },
  invitation_expired: {
    status: 410,
    title: 'The invitation has ended',
    remedy: 'Ask the one who sent it for a new one.',
  },
  invitation_used: {
    status: 410,
    title: 'The invitation was used already',
    remedy: 'Ask the one who sent it for one of your own.',
  },
  invitation_limit: {
    status: 409,
    title: 'There are too many invitations',
    remedy: 'End one that is no longer needed.',
  },
}

/** Limits of what the plugin keeps, by their names in the settings. */
export const LIMITS = {
  /** Invitations of one user, expired ones included until they are removed after 30 days. */
  invitationsPerUser: 100,
}
