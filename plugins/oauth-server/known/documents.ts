/**
 * Documents of clients whose servers refuse requests of programs: claude.ai answers most data centres with a challenge for browsers
 * (HTTP 403). They are as published, and are used where the document cannot be read. Their answers go to the same host or to the device of
 * the user, so that nobody else gains by them.
 */
const DOCUMENTS: readonly Readonly<Record<string, unknown>>[] = [
  {
    client_id: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
    client_name: 'Claude',
    redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
    token_endpoint_auth_method: 'none',
  },
  {
    client_id: 'https://claude.ai/oauth/claude-code-client-metadata',
    client_name: 'Claude Code',
    redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
    token_endpoint_auth_method: 'none',
  },
]

/** The text of a known document; undefined for another id. */
export function knownDocument(id: string): string | undefined {
  const found = DOCUMENTS.find(({ client_id }) => client_id === id)
  return found && JSON.stringify(found)
}
