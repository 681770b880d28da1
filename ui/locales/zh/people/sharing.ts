/** Chinese texts of sharing and of teams, by their English. */
export const sharing: Readonly<Record<string, string>> = {
  Sharing: '共享',
  'It is shared with nobody yet.': '尚未与任何人共享。',
  'stated in the settings file': '在设置文件中规定',
  'by {name}': '由 {name} 共享',
  'Role of {name}': '{name} 的角色',
  'End sharing with {name}': '结束与 {name} 的共享',
  'Preview as {name}': '以 {name} 的身份预览',
  'Share with': '共享给',
  'a person': '个人',
  'a team': '团队',
  Share: '共享',
  '{thing} is shared with {name}': '{thing} 已与 {name} 共享',
  '{name} may {role} it now': '{name} 现在的角色：{role}',
  'End sharing with {name}?': '结束与 {name} 的共享？',
  'It acts at once: calls that are running end, and clients of {name} lose the tools.':
    '立即生效：正在进行的调用会结束，{name} 的客户端将失去这些工具。',
  'End sharing': '结束共享',
  '{thing} is no longer shared with {name}': '{thing} 不再与 {name} 共享',
  '{n} member': '{n} 名成员',
  '{n} members': '{n} 名成员',
  use: '使用',
  see: '查看',
  change: '修改',
  'Lists its tools and calls them; its settings are not shown.': '可列出并调用其工具；不显示其设置。',
  'Uses it, and reads its settings with secrets hidden, its faults and its figures.':
    '可使用，并可查看其设置（机密已隐藏）、故障与数据。',
  'Sees it, starts, stops and edits it; sharing and deleting are left to the owner.':
    '可查看、启动、停止和编辑；共享与删除由所有者进行。',
  'Shared with me': '与我共享',
  'Nothing is shared with you': '没有与您共享的内容',
  'What colleagues share with you, or with a team of yours, is listed here at once.':
    '同事与您或您的团队共享的内容会立即显示在此处。',
  'It belongs to {owner}, and everybody on this hub may use it.': '它属于 {owner}，此 Hub 上的所有人都可使用。',
  'Shared with you by {owner}: {role}.': '由 {owner} 与您共享：{role}。',
  'It belongs to {owner}, who lets you use it.': '它属于 {owner}，并允许您使用。',
  'Leave {name}?': '离开 {name}？',
  'Your clients lose its tools at once. Only {owner} can share it with you again.':
    '您的客户端会立即失去其工具。只有 {owner} 能再次与您共享。',
  '{name} is no longer shared with you': '{name} 不再与您共享',
  'You have it by a team or as everybody has it: there is no share of your own to leave.':
    '您是通过团队或与所有人一样获得它的：没有可离开的个人共享。',
  Teams: '团队',
  Team: '团队',
  'New team': '新建团队',
  'Members set by administrators': '成员由管理员设置',
  'Members of the group {group} of {provider}': '{provider} 的组 {group} 的成员',
  'Not set up': '未设置',
  'The members are those whose identity provider {provider} names the group {group} when they sign in. Add and remove them there.':
    '成员是登录时身份提供方 {provider} 声明属于组 {group} 的用户。请在那里添加或移除成员。',
  'No such provider is set up here: nobody joins the team until there is one.':
    '此处未设置该提供方：在设置之前，没有人会加入该团队。',
  'Nobody yet': '还没有人',
  'No teams yet': '还没有团队',
  'What is shared with a team is shared with all its members, also with those who join later.':
    '与团队共享的内容对其所有成员有效，包括以后加入的成员。',
  Names: '名单',
  Change: '更改',
  'Team {name}': '团队 {name}',
  'Filter names': '筛选名称',
  'Make team': '创建团队',
  'Delete team {name}?': '删除团队 {name}？',
  'Delete team': '删除团队',
  'Team {name} is deleted': '团队 {name} 已删除',
  'What is shared with it is lost at once to {n} member, unless it is shared by name, too.':
    '{n} 名成员会立即失去与该团队共享的内容，除非也按姓名共享。',
  'What is shared with it is lost at once to {n} members, unless it is shared by name, too.':
    '{n} 名成员会立即失去与该团队共享的内容，除非也按姓名共享。',
  'As {name} sees this group.': '{name} 所见的此分组。',
  'Back to your view': '返回您的视图',
  'A client of {name} will see': '{name} 的客户端将看到',
  'Open its access': '打开其访问设置',
  'Share {server} with them': '与他们共享 {server}',
  '{server} is shared with them, too': '{server} 也已与他们共享',
  'It works for you with your own sign-in. {owner} has not signed in, so it is offline for {owner} alone.':
    '您使用自己的登录即可使用它。{owner} 尚未登录，因此它仅对 {owner} 离线。',
  'It wants each of its users to sign in.': '它要求每位用户各自登录。',
  'Your calls carry your own account there. Until you have signed in, it lists no tools for you.':
    '您的调用使用您自己在那里的账号。在您登录之前，它不会为您列出工具。',
  'Works for you': '您可以使用',
  'Sign-in needed': '需要登录',
  'Only {owner} can change the name, the visibility and whose credentials it uses, pass on more headers, or use variables in more places.':
    '名称、可见性以及使用谁的凭据只能由 {owner} 决定；新增透传的请求头和在其他位置使用变量也只能由 {owner} 进行。',
  'If {owner} has more rights than you, only {owner} can change what it runs: command, arguments, variables, folder and sandbox.':
    '如果 {owner} 的权限高于您，则其运行内容只能由 {owner} 更改：命令、参数、变量、目录和沙箱。',
  'For another address, enter its secrets again. Where headers are passed on, {owner} alone changes the address.':
    '更改地址时，请重新输入其密钥。若透传请求头，则只能由 {owner} 更改地址。',
  'with your own sign-in': '使用您自己的登录',
  'You have no such server': '您没有这个服务器',
  'You have no such group': '您没有这个分组',
  'It was deleted or renamed, or it is not shared with you. Ask the person who gave you its address.':
    '它已被删除、改名，或未与您共享。请询问给您此地址的人。',
  '{name} is gone': '{name} 已不存在',
  'It was deleted or renamed, or it has another owner now.': '它已被删除、改名，或已转交他人。',
  '{name} is not shared with you any more': '{name} 已不再与您共享',
  '{owner} has ended the share or deleted it. Your clients have lost its tools, and their calls are refused. Ask {owner} if you still need it.':
    '{owner} 已结束共享或将其删除。您的客户端已失去其工具，调用会被拒绝。如仍需要，请联系 {owner}。',
  'To the servers': '前往服务器列表',
  'To the groups': '前往分组列表',
  'It has no tools for you now': '目前没有可供您使用的工具',
  'Its servers are not online yet, or belong to people who do not share them with you. Tools appear here at once.':
    '其服务器尚未上线，或属于未与您共享的人。工具可用后会立即显示在此处。',
  View: '视图',
  'Shared with you': '与您共享',
  'Show all': '全部显示',
  'not shared with you by itself': '未单独与您共享',
  'Sign in there: the hub connects then. Others who have signed in use it meanwhile.':
    '请在那里登录，随后 Hub 即会连接。已登录的其他人在此期间可以使用它。',
  'each user signs in': '每位用户各自登录',
  'each user has lists of their own': '每位用户有各自的列表',
}
