/**
 * Members that the routes for clients of OAuth have in common. The hub authenticates nobody there: a route reads the credential of the
 * client by itself, and limits its callers by itself.
 */
export const CLIENT_ROUTE = {
  access: 'public',
  tag: 'OAuth',
  whole: true,
  ownCredential: true,
  ownLimit: true,
  anyQuery: true,
} as const
