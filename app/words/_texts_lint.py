"""Texts of commands that somebody else wrote: reading them, checking them, and plan files.

Each entry is code: (English, Chinese).
"""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {
    # reading a command
    "problem.import_empty": (
        "There is no command to read. Paste it, or give it after --.",
        "没有可读取的命令。请粘贴命令，或写在 -- 之后。",
    ),
    "problem.import_quote": (
        "A quotation mark in the pasted command is never closed. Copy the whole command, up to its last line.",
        "粘贴的命令中有一个引号没有闭合。请复制完整的命令，直到最后一行。",
    ),
    "problem.import_json": (
        "The text begins like a JSON list, but it cannot be read as one. Copy the whole list, or the command itself.",
        "这段文字的开头像 JSON 列表，但无法按 JSON 读取。请复制完整的列表，或直接复制命令。",
    ),
    "problem.import_no_options": (
        "The text holds no llama-server command: no word in it begins with a dash. Copy the whole command.",
        "这段文字中没有 llama-server 命令：没有以短横线开头的词。请复制完整的命令。",
    ),
    "problem.import_too_long": (
        "The pasted text is longer than 256 KiB, far more than any llama-server command. Copy the command alone.",
        "粘贴的文字超过 256 KiB，远远超出任何 llama-server 命令的长度。请只复制命令本身。",
    ),
    "problem.import_too_many_words": (
        "The command has {n:num} words; only the first {most:num} were read. Shorten it: the rest is not part of what is "
        "shown.",
        "命令有 {n:num} 个词，只读取了前 {most:num} 个。请缩短命令：其余部分不在所示结果之内。",
    ),
    "problem.import_too_many_rules": (
        "The command has {n:num} placement rules; only the first {most:num} were read. Join them: one pattern can name "
        "many layers, such as blk\\.(1[0-9]|2[0-9])\\.ffn_.*_exps=CPU.",
        "命令有 {n:num} 条放置规则，只读取了前 {most:num} 条。请合并规则：一个模式可以写多层，例如 "
        "blk\\.(1[0-9]|2[0-9])\\.ffn_.*_exps=CPU。",
    ),
    "problem.import_not_utf8": (
        "Standard input is not UTF-8 text. Save the command as UTF-8, or give it after --.",
        "标准输入不是 UTF-8 文本。请把命令保存为 UTF-8，或写在 -- 之后。",
    ),
    "problem.import_variable": (
        "The command uses the variable {name}, which it does not set. Its place was kept as it is written: put the value in.",
        "命令使用了变量 {name}，但没有给它赋值。该处按原样保留：请填入实际的值。",
    ),
    "problem.import_bad_value": (
        "{flag} cannot take the value “{value}”; llama-server would stop. The option was ignored: correct the value.",
        "{flag} 不接受“{value}”这个值，llama-server 会立即退出。此选项已忽略：请改正该值。",
    ),
    "problem.import_value_missing": (
        "{flag} needs a value after it; llama-server would stop. Add the value or remove the option.",
        "{flag} 后面需要一个值，否则 llama-server 会立即退出。请补上该值或删除此选项。",
    ),
    "problem.import_stray": (
        "“{value}” belongs to no option; llama-server would stop. Remove it, or put quotation marks around a value with blanks.",
        "“{value}”不属于任何选项，llama-server 会立即退出。请删除它，或给含空格的值加上引号。",
    ),
    "problem.import_equals": (
        "llama-server does not take {flag}=VALUE. Write the value as a word of its own: {flag} {value}",
        "llama-server 不接受 {flag}=值 的写法。请把值单独写成一个词：{flag} {value}",
    ),
    "problem.import_split_mode": (
        "{flag} {value} divides every tensor among the cards. The board shows whole layers only; the option is kept as it is.",
        "{flag} {value} 会把每个张量拆分到各显卡。布局只能显示整层；此选项按原样保留。",
    ),
    "problem.import_cache_type": (
        "{flag} {value} is a cache type that the plan does not know (it knows {known}). The option is kept; memory is "
        "counted as f16.",
        "{flag} {value} 是方案不认识的缓存类型（已知：{known}）。此选项保留，内存按 f16 计算。",
    ),
    "problem.import_prompt_cache": (
        "Without -cram the server keeps up to {cache_bytes:size} of prompts in RAM; once it has grown, RAM is over-full by "
        "{missing_bytes:size}. Limit it, such as -cram 1024.",
        "没有 -cram 时，服务器最多会在内存中保留 {cache_bytes:size} 的提示缓存；增长到上限后，内存会超出 "
        "{missing_bytes:size}。请加以限制，例如 -cram 1024。",
    ),
    "problem.import_no_device": (
        "The command asks for {device}, which this machine does not have (it has {known}); llama-server would stop. Name "
        "one of those.",
        "命令要求使用 {device}，但本机没有该设备（本机有：{known}），llama-server 会立即退出。请改用其中之一。",
    ),
    "problem.import_rule_dropped": (
        "The rule {rule} was left out: {device} is no memory this plan can use. Choose a device for it on the board.",
        "规则 {rule} 已略去：{device} 不是此方案可用的存储位置。请在布局中为它选择设备。",
    ),
    # rules
    "problem.lint_no_match": (
        "The rule {rule} matches no tensor of this file, so it does nothing and everything stays where -ngl puts it. "
        "“inspect --tensors” lists the real names.",
        "规则 {rule} 在此文件中没有匹配到任何张量，因此毫无作用，一切仍在 -ngl 决定的位置。用 inspect --tensors "
        "可查看真实名称。",
    ),
    "problem.lint_no_match_meant": (
        "The rule {rule} matches no tensor of this file, so the experts stay on the GPU. Tensors have other names in a "
        "GGUF: write {better}",
        "规则 {rule} 在此文件中没有匹配到任何张量，专家仍会留在 GPU。GGUF 中的张量名称不同：请写成 {better}",
    ),
    "problem.lint_no_experts": (
        "{rule} moves nothing: these layers have no routed experts in this file. Remove it or raise the number.",
        "{rule} 没有移动任何内容：此文件的这些层没有路由专家。请删除它，或增大层数。",
    ),
    "problem.lint_single_experts": (
        "The rule {rule} names single experts, but a GGUF keeps all experts of a layer in one tensor, so it matches "
        "nothing. Move whole layers of experts instead.",
        "规则 {rule} 指向单个专家，但 GGUF 把一层的所有专家存放在同一个张量中，因此没有匹配。请改为按整层移动专家。",
    ),
    "problem.lint_shadowed": (
        "The rule {rule} never applies: all {n:count tensor|tensors} it matches are taken by {by}, which stands before it. "
        "Put the narrower rule first.",
        "规则 {rule} 从不生效：它匹配的 {n} 个张量都已被前面的 {by} 先行匹配。请把范围更窄的规则放在前面。",
    ),
    "problem.lint_too_broad": (
        "The rule {rule} also moves {n:count tensor|tensors} that every token uses, such as {example} ({n_bytes:size} in "
        "all). End the pattern in _exps to move the routed experts alone.",
        "规则 {rule} 还会移动每个 token 都要用到的 {n} 个张量，例如 {example}（共 {n_bytes:size}）。让模式以 _exps "
        "结尾，即可只移动路由专家。",
    ),
    "problem.lint_misses_part": (
        "The rule {rule} leaves {n:count expert tensor|expert tensors} behind, such as {example} ({n_bytes:size} in all): "
        "this file keeps gate and up in one tensor. Add gate_up to the names.",
        "规则 {rule} 漏掉了 {n} 个专家张量，例如 {example}（共 {n_bytes:size}）：此文件把 gate 和 up 存放在同一个张量"
        "中。请在名称中加入 gate_up。",
    ),
    "problem.lint_dense_counted": (
        "{rule} moves the experts of {moved:count layer|layers} only: it counts layers from 0, and the first {dense} have "
        "no experts.",
        "{rule} 只移动了 {moved} 层的专家：层数从 0 开始计，而前 {dense} 层没有专家。",
    ),
    "problem.lint_no_effect": (
        "The rule {rule} changes nothing: what it matches is on {device} anyway.",
        "规则 {rule} 没有改变任何内容：它匹配的张量本来就在 {device}。",
    ),
    "problem.lint_kv_stays": (
        "The rule {rule} moves the attention of {n:count layer|layers} to {device}, but their KV cache stays on the GPU: it "
        "follows -ngl, never -ot. Lower -ngl instead.",
        "规则 {rule} 把 {n} 层的注意力移到 {device}，但其 KV 缓存仍在 GPU：KV 只跟随 -ngl，不跟随 -ot。请改为调低 "
        "-ngl。",
    ),
    "problem.lint_regex_comma": (
        "The rule {rule} holds a comma, and -ot is cut at every comma: llama-server would stop with “invalid value”. "
        "Write {better}",
        "规则 {rule} 中含有逗号，而 -ot 会在每个逗号处切开：llama-server 会以“invalid value”退出。请写成 {better}",
    ),
    "problem.lint_regex_equals": (
        "The pattern {pattern} holds a =, and a rule is cut at its first =: llama-server would stop with “unknown buffer "
        "type”. Write the pattern without =.",
        "模式 {pattern} 中含有 =，而规则会在第一个 = 处切开：llama-server 会以“unknown buffer type”退出。请改写为不含 "
        "= 的模式。",
    ),
    "problem.lint_no_device": (
        "The rule {rule} does not say where to: llama-server would stop with “invalid value”. Add =CPU or =DEVICE.",
        "规则 {rule} 没有指明目标：llama-server 会以“invalid value”退出。请补上 =CPU 或 =设备名。",
    ),
    "problem.lint_stray_quotes": (
        "The rule {rule} reaches llama-server with its quotation marks, so nothing fits. In cmd use double quotation marks.",
        "规则 {rule} 连同引号一起传给了 llama-server，因此无法匹配。在 cmd 中请使用双引号。",
    ),
    "problem.lint_regex_bad": (
        "The pattern {pattern} is not a valid regular expression: character {position} (“{at}”). llama-server would find "
        "out only while it loads. Correct the pattern.",
        "模式 {pattern} 不是有效的正则表达式：第 {position} 个字符（“{at}”）。llama-server 要到加载时才会发现。请改正"
        "该模式。",
    ),
    "problem.lint_regex_not_ecmascript": (
        "The pattern {pattern} uses “{at}”, which Python and PCRE know but llama-server (ECMAScript) does not. Write it "
        "without look-behind, inline flags and named groups.",
        "模式 {pattern} 使用了“{at}”，Python 和 PCRE 支持，但 llama-server（ECMAScript）不支持。请不要使用后行断言、"
        "内联标志或命名分组。",
    ),
    "problem.lint_regex_too_complex": (
        "The pattern {pattern} repeats what already repeats; on names that do not fit this can take for ever. Write it with "
        "single repetitions.",
        "模式 {pattern} 对已重复的内容再次重复，遇到不匹配的名称时可能无休止地计算。请只用单层重复。",
    ),
    "problem.lint_buffer_case": (
        "“{device}” in the rule {rule} is spelt {right}: buffer names are case-sensitive, and llama-server would stop.",
        "规则 {rule} 中的“{device}”应写作 {right}：缓冲区名称区分大小写，否则 llama-server 会立即退出。",
    ),
    "problem.lint_buffer_gpu": (
        "“{device}” in the rule {rule} is no buffer type, and llama-server would stop. It knows {known}; write ={right}",
        "规则 {rule} 中的“{device}”不是缓冲区类型，llama-server 会立即退出。它认识：{known}；请写成 ={right}",
    ),
    "problem.lint_buffer_host": (
        "“{device}” in the rule {rule} cannot be asked for, and llama-server would stop. Memory of the computer is ={right}",
        "规则 {rule} 中的“{device}”不能指定，llama-server 会立即退出。系统内存应写成 ={right}",
    ),
    "problem.lint_buffer_rpc": (
        "An RPC device is named with its address in -ot: write ={right} instead of ={device} in the rule {rule}.",
        "在 -ot 中，RPC 设备要带上地址：规则 {rule} 中请把 ={device} 写成 ={right}",
    ),
    "problem.lint_buffer_unknown": (
        "“{device}” in the rule {rule} does not exist here, and llama-server would stop with “unknown buffer type”. It knows "
        "{known}.",
        "规则 {rule} 中的“{device}”在本机不存在，llama-server 会以“unknown buffer type”退出。它认识：{known}。",
    ),
    "problem.lint_device_not_chosen": (
        "The rule {rule} sends tensors to {device}, which -dev or -sm leaves out. Add the device, or change the rule.",
        "规则 {rule} 把张量送往 {device}，但 -dev 或 -sm 没有选用该设备。请加入该设备，或修改规则。",
    ),
    # options
    "problem.lint_flag_replaced": (
        "This llama-server does not know {flag} and would stop. Write {new}",
        "此 llama-server 不支持 {flag}，会立即退出。请写成 {new}",
    ),
    "problem.lint_flag_gone": (
        "{flag} was removed from llama-server, and nothing took its place; it would stop. Remove the option.",
        "{flag} 已从 llama-server 中移除且没有替代选项，llama-server 会立即退出。请删除此选项。",
    ),
    "problem.lint_flag_of_ik": (
        "{flag} belongs to ik_llama.cpp; this llama-server would stop. Remove it, or choose an ik_llama.cpp server.",
        "{flag} 是 ik_llama.cpp 的选项，此 llama-server 会立即退出。请删除它，或选择 ik_llama.cpp 的服务器。",
    ),
    "problem.lint_flag_near": (
        "llama-server has no option {flag} and would stop. Did you mean {near}?",
        "llama-server 没有 {flag} 这个选项，会立即退出。是否想写 {near}？",
    ),
    "problem.lint_flag_unknown": (
        "No llama-server that Lanewise knows has the option {flag}; this one would stop. Remove it.",
        "Lanewise 已知的 llama-server 都没有 {flag} 这个选项，此版本会立即退出。请删除它。",
    ),
    "problem.lint_flag_missing": (
        "Other builds of llama-server know {flag}, this one does not and would stop. Remove it, or choose a newer one.",
        "其他版本的 llama-server 支持 {flag}，但此版本不支持，会立即退出。请删除它，或选择更新的版本。",
    ),
    "problem.lint_fa_needs_value": (
        "{flag} needs on, off or auto since autumn 2025: this llama-server would take the next word for it. Write {flag} on",
        "自 2025 年秋起 {flag} 需要 on、off 或 auto：此 llama-server 会把下一个词当作它的值。请写成 {flag} on",
    ),
    "problem.lint_fa_takes_no_value": (
        "{flag} is a bare switch in this llama-server: “{value}” would stop it. Write {flag} alone, or leave it out for off.",
        "在此 llama-server 中 {flag} 是不带值的开关：“{value}”会使它退出。请只写 {flag}；若要关闭则省略。",
    ),
    "problem.lint_given_twice": (
        "The setting of {flag} is given more than once; the last one counts ({value}). Remove the others.",
        "{flag} 对应的设置出现了多次，以最后一个为准（{value}）。请删除其余的。",
    ),
    "problem.lint_fit_gives_up": (
        "Automatic fitting gives up because {flag} is given: the command runs unfitted. Remove {flag}, or write --fit off "
        "and place everything yourself.",
        "由于给出了 {flag}，自动适配会放弃，命令将按未适配的状态运行。请删除 {flag}，或写 --fit off 并自行放置。",
    ),
    "problem.lint_fit_left_on": (
        "Automatic fitting is on by default and gives up because of {flag}. Write --fit off, so that it changes nothing else.",
        "自动适配默认开启，并会因 {flag} 而放弃。请写 --fit off，以免它改动其他设置。",
    ),
    "problem.lint_no_context": (
        "Without -c the context is the model's whole {trained:num} tokens, and the KV cache grows with it. Say how much you "
        "need, such as -c 8192.",
        "没有 -c 时，上下文为模型的全部 {trained:num} 个 token，KV 缓存也随之增大。请写明所需大小，例如 -c 8192。",
    ),
    "problem.lint_no_context_fit": (
        "Without -c the context is the model's {trained:num} tokens; if that does not fit, automatic fitting gives up the "
        "placement but still shortens the context, silently. Write -c and --fit off.",
        "没有 -c 时，上下文为模型的 {trained:num} 个 token；如果放不下，自动适配会放弃放置，却仍会悄悄缩短上下文。请写上 "
        "-c 和 --fit off。",
    ),
    "problem.lint_context_full": (
        "-c 0 asks for the model's whole context of {trained:num} tokens; it is never shortened. Name a number if that is "
        "more than you need.",
        "-c 0 表示使用模型的全部上下文 {trained:num} 个 token，不会缩短。若用不到这么多，请写明具体数值。",
    ),
    "problem.lint_context_divided": (
        "The {n_ctx:num} tokens of context are divided among {n} slots: each request gets {each:num}. Add -kvu to share them.",
        "{n_ctx:num} 个 token 的上下文会平分给 {n} 个槽位：每个请求只有 {each:num}。加上 -kvu 即可共享。",
    ),
    "problem.lint_slots_auto": (
        "Without -np the server opens {n} slots that share the context. Write -np 1 if you are the only user.",
        "没有 -np 时，服务器会开 {n} 个共享上下文的槽位。如果只有你一人使用，请写 -np 1。",
    ),
    "problem.lint_downloads": (
        "The command downloads {model}; it was checked against the file you named instead.",
        "命令会下载 {model}；此处改用你指定的文件进行检查。",
    ),
    "problem.lint_outside_rules": (
        "{source} sets “{setting}” on this machine. Rules from there come before those of the command line and win. "
        "Remove it there, or start from Lanewise, which leaves it out.",
        "本机的 {source} 设置了“{setting}”。来自那里的规则排在命令行之前并优先生效。请在那里删除，或从 Lanewise 启动"
        "（会忽略它）。",
    ),
    "problem.lint_outside_setting": (
        "{source} sets “{setting}” on this machine, and the command says nothing else, so that holds. Write the option "
        "into the command, or start from Lanewise, which leaves it out.",
        "本机的 {source} 设置了“{setting}”，而命令中没有另行指定，因此会生效。请在命令中写明该选项，或从 Lanewise 启动"
        "（会忽略它）。",
    ),
    "problem.lint_rpc_late": (
        "{flag} names an RPC device before --rpc HOST:PORT has registered it, and llama-server would stop. Put --rpc first.",
        "{flag} 在 --rpc HOST:PORT 注册设备之前就使用了 RPC 设备，llama-server 会立即退出。请把 --rpc 放在最前面。",
    ),
    "problem.lint_no_gpu": (
        "{flag} does nothing: llama-server sees no GPU here. Choose a build for your card.",
        "{flag} 没有作用：llama-server 在本机看不到 GPU。请选择适用于你的显卡的版本。",
    ),
    "problem.lint_ncmoe_first_card": (
        "{flag} takes the first layers, which are all on {device}: the other cards keep every expert. Balance them with -ts, "
        "or use -ot.",
        "{flag} 取的是最前面的层，它们都在 {device}：其他显卡会保留全部专家。请用 -ts 平衡，或改用 -ot。",
    ),
    "problem.lint_ncmoe_spread": (
        "With several cards ik_llama.cpp takes the layers of {flag} from every card in proportion, not the first ones "
        "({device} and the others). llama.cpp would take the first.",
        "有多张显卡时，ik_llama.cpp 会按比例从每张卡（{device} 及其他）取 {flag} 的层，而不是取最前面的层；llama.cpp 则取"
        "最前面的层。",
    ),
    # output of the verbs
    "cli.verb.import": (
        "Read someone's llama-server command and make a plan of it.",
        "读取他人的 llama-server 命令并生成方案。",
    ),
    "cli.verb.lint": (
        "Check a llama-server command against this file and this engine.",
        "对照此文件和此引擎检查 llama-server 命令。",
    ),
    "cli.help.stdin": (
        "read the command from standard input (cmd, PowerShell, bash or a JSON list)",
        "从标准输入读取命令（cmd、PowerShell、bash 或 JSON 列表）",
    ),
    "cli.lint.rules": ("Rules, in the order the engine tries them:", "规则（按引擎尝试的顺序）："),
    "cli.lint.no_rules": ("No rule moves tensors.", "没有移动张量的规则。"),
    "cli.lint.hits": ("{n:count tensor|tensors}", "{n} 个张量"),
    "cli.lint.moved": ("{n} decided", "{n} 个由此决定"),
    "cli.lint.clean": ("Nothing is wrong with this command.", "此命令没有问题。"),
    "cli.lint.converted": ("As Lanewise would write it:", "Lanewise 的写法："),
    "cli.help.against": (
        "a saved plan (.json) to compare with: what moves, bytes, options",
        "用于比较的已保存方案（.json）：列出移动的内容、字节数和选项",
    ),
    "cli.against.same": ("The saved plan does the same.", "与已保存的方案相同。"),
    "cli.against.title": ("Compared with the saved plan:", "与已保存的方案相比："),
    # plan files
    "cli.help.plan": (
        "a saved plan (.json): its wishes and its placement; options given here replace its own",
        "已保存的方案（.json）：沿用其设置和放置；此处给出的选项优先",
    ),
    "problem.plan_file_missing": (
        "The plan file {path} cannot be read: {why}. Check the name.",
        "无法读取方案文件 {path}：{why}。请检查文件名。",
    ),
    "problem.plan_file_no_file": (
        "{path} is no file that a plan could be in. Choose a .json that “export” wrote.",
        "{path} 不是可以存放方案的文件。请选择由 export 写出的 .json 文件。",
    ),
    "problem.plan_file_opens_network": (
        "With this plan the server listens on {host}: other computers can reach it, with the key. Launch it only if you "
        "want that.",
        "按此方案，服务器监听 {host}：其他电脑持有密钥即可访问。仅在需要时启动。",
    ),
    "problem.plan_file_not_json": (
        "{path} is not a plan of Lanewise (line {line} cannot be read as JSON). Choose a .json that “export” wrote.",
        "{path} 不是 Lanewise 的方案（第 {line} 行无法按 JSON 读取）。请选择由 export 写出的 .json 文件。",
    ),
    "problem.plan_file_too_large": (
        "{path} is larger than {most:size}, far more than any plan of Lanewise. Choose a file that “export” wrote.",
        "{path} 超过 {most:size}，远远超出任何 Lanewise 方案的大小。请选择由 export 写出的文件。",
    ),
    "problem.plan_file_other": (
        "{path} is JSON, but no plan of Lanewise. Choose a file that “export” wrote.",
        "{path} 是 JSON 文件，但不是 Lanewise 的方案。请选择由 export 写出的文件。",
    ),
    "problem.plan_file_newer": (
        "The plan was saved by a newer Lanewise (version {version} of the format, this one knows {known}). What it knows was "
        "loaded.",
        "该方案由更新的 Lanewise 保存（格式版本 {version}，此版本只认识 {known}）。已载入能识别的部分。",
    ),
    "problem.plan_file_other_model": (
        "The plan was saved for {name}, not for this model. Its wishes were loaded; of its placement {n:count tensor|tensors} "
        "could not be found here and were dropped.",
        "该方案是为 {name} 保存的，不是此模型。已载入其设置；放置中有 {n} 个张量在此找不到，已略去。",
    ),
    "problem.plan_file_other_quant": (
        "The plan was saved for another file of this model ({name}, {size:size}). The placement was kept; its figures are new.",
        "该方案是为此模型的另一个文件（{name}，{size:size}）保存的。放置已保留，数字已重新计算。",
    ),
    "problem.plan_file_dropped": (
        "“{key}” in the plan file cannot be used ({value}) and was dropped; the default holds. Check the file if you "
        "edited it by hand.",
        "方案文件中的“{key}”无法使用（{value}），已略去并采用默认值。如果手动编辑过该文件，请检查。",
    ),
    "problem.plan_file_no_device": (
        "The plan uses {device}, which is not here; what was on it went to {instead}. Choose another device or preset.",
        "该方案使用了 {device}，但此处没有该设备；原本放在其上的内容改放到 {instead}。请选择其他设备或预设。",
    ),
    "problem.plan_file_lost_tensors": (
        "{n:count tensor|tensors} that the plan moved could not be found and were dropped. Check the rules if you edited "
        "the file by hand.",
        "方案移动的 {n} 个张量找不到，已略去。如果手动编辑过该文件，请检查其中的规则。",
    ),
    "problem.preset_cannot_carry": (
        "A router preset cannot carry the value of {option}: it holds a # or ;, or begins with a blank. Rename the file, or "
        "export a script.",
        "路由预设文件无法保存 {option} 的值：其中含有 # 或 ;，或以空格开头。请重命名文件，或改为导出脚本。",
    ),
    "problem.swap_cannot_carry": (
        "llama-swap cannot carry the argument “{text}”: it holds a line break or ${{. Remove it, or export a script.",
        "llama-swap 无法传递参数“{text}”：其中含有换行或 ${{。请去掉它，或改为导出脚本。",
    ),
    "problem.transformers_copies": (
        "accelerate keeps these experts in RAM and copies {n_bytes:size} to the GPU for every token; they are not computed "
        "on the CPU. For speed use llama-server with the plan itself.",
        "accelerate 只把这些专家存放在内存中，每个 token 都要向 GPU 复制 {n_bytes:size}，并不在 CPU 上计算。追求速度请直接"
        "用 llama-server 运行此方案。",
    ),
    "export.not_the_gguf": (
        "Needs the original model in BF16 (not the GGUF), transformers and accelerate. Not tested by Lanewise on a GPU.",
        "需要 BF16 的原始模型（不是 GGUF）以及 transformers 和 accelerate。Lanewise 未在 GPU 上测试过此脚本。",
    ),
}
