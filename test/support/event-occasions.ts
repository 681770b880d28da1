import type { PluginEventName } from '../../core/contract/events.ts'

/** When each event is emitted, for the reference. */
export const EVENT_OCCASIONS: Readonly<Record<PluginEventName, string>> = {
  'server.created': 'A server was registered',
  'server.updated': 'Its settings changed; `changed` are the names of the fields',
  'server.removed': 'It was deleted, or passed from its owner to another (`transferred`)',
  'group.created': 'A group was made',
  'group.updated': 'Its settings or members changed',
  'group.removed': 'It was deleted, or passed from its owner to another (`transferred`)',
  'share.changed':
    'A server or group was shared, or the role changed; `role` null: it is no longer shared. For its owner and each user concerned',
  'team.renamed': 'An administrator renamed a team; `before`: its former name',
  'team.removed': 'A team was deleted',
  'user.created': 'An account was made',
  'user.updated': 'Role, name, password or state of an account changed: cached credentials of this user are invalid',
  'user.removed': 'An account was deleted',
  'key.created': 'An access key was made',
  'key.removed': 'It was deleted or replaced',
  'settings.updated': 'Settings of the hub or of a user were written; `keys` are their names',
  'config.changed': 'An edit of the settings file was taken over; `applied` are the sections that changed',
  'config.rejected': 'An edit of the settings file cannot be read; the state before it stays',
  'connection.state':
    'A server came online, went offline, or is being connected; `attempts`: failed ones in a row; `ofOwner`: only its owner lacks a credential, and callers with their own use it',
  'server.health': 'The periodic checks of a server began to fail (or it was lost otherwise), or succeed again',
  'catalog.changed': 'A server’s lists changed. `older`: those of the legacy side of a server that speaks both eras',
  'tool.definition_changed':
    'The definition of a tool has changed; `blocked`: it cannot be called until its owner approves it',
  'approvals.requested': 'Of the plugin `approvals`: a call waits for a decision; to those who decide',
  'approvals.decided':
    'Of the plugin `approvals`: it was decided, or nobody decided in time; to its caller and those who decide',
  'quotas.near': 'Of the plugin `quotas`: a quota of the day is nearly used up; to the one whose it is',
  'tool.called':
    'A tools/call ended, also one that reached no server; of others’ calls without their address, key and client',
  'log.record': 'A record of the log, as it stands in the file',
  'metrics.tick':
    'Each 10 s: the calls of one user’s servers and that the user made in that time, if there were any, or were any before; `ownerId` null: all',
  'alert.pending': 'The condition of a rule holds for a subject, and its duration has not passed',
  'alert.fired': 'An alert fires',
  'alert.resolved': 'An alert is over',
  'sink.state': 'A log sink takes no records now, or takes them again',
  'assistant.state': 'An assistant endpoint is connected, waits for its next attempt, was refused, or is off',
  'plugin.failed': 'A plugin failed and was withdrawn',
  'plugin.changed': 'A plugin started, stopped, or was switched off',
  'session.opened': 'An MCP session was opened',
  'session.ended': 'It ended',
}
