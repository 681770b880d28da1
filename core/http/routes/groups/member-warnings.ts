import type { GroupWarning } from '../../../domain/group-warning.ts'
import type { ShareRegistry, WrittenGroup } from '../../../registry/api.ts'

/** Warns about members that some of the group's users do not get. */
export function missedWarnings(shares: Pick<ShareRegistry, 'isMissedBySome'>, group: WrittenGroup): GroupWarning[] {
  return group.usable
    .filter(({ server }) => shares.isMissedBySome(group, server))
    .map(({ server: { name } }) => {
      const message = `Server "${name}" is private: not all who may use the group get it; share the server with them, too`
      return { code: 'others_get_less', message, server: name }
    })
}

/** Warns about a member whose server was deleted. */
export function deletedWarning(server: string): GroupWarning {
  const message = `Server "${server}" was deleted, and with it this member; save the members of the group to take note of it`
  return { code: 'server_deleted', message, server }
}
