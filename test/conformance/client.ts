/**
 * The suite's client leg starts this program for each scenario. Scenarios about OAuth are refused before anything is loaded
 * or a hub is started: 20 to 31 of them run at once, and the hub does not speak OAuth to servers.
 */
if (process.env.MCP_CONFORMANCE_SCENARIO?.startsWith('auth/')) throw new Error('The hub speaks no OAuth to servers')
await import('./client-through-hub.ts')

export {}
