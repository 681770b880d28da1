/** Prefix of the keys of hosted platforms among a user's secrets. */
export const HOSTED_KEY_PREFIX = 'hostedKeys.'
