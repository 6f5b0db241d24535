# ruff: noqa: RUF001 - the words of other scripts are meant
"""What words say of a task, as data: stems by kind and weight, in ten languages.

A word that ends in ``*`` is a stem: it stands for every word that begins with it. All others stand for
themselves. They are folded like the tasks (lower case, no accents). Chinese and Japanese have no spaces
between words: what is written in their scripts is looked for anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping

TECH: Mapping[float, str] = {
    2.0: """
        bug bugs bugfix* refactor* compil* debug* segfault* nullpointer* traceback* stacktrace* unittest* regex*
        regexp* endpoint* typescript javascript python rust golang kotlin java php django flask rails react vue
        svelte angular dockerfile makefile cmake* docker kubernetes k8s nginx yaml toml protobuf openapi webpack
        vite eslint mypy ruff pytest jest npm pip cargo gradle maven sql websocket* middleware serializ* deserializ*
        docstring* decorator* callback* mutex* linter* typecheck* codebase* subclass* struct structs enum enums
        async await boilerplate usestate useeffect localstorage css grpc stdin stdout argv lambda* generics trait
        borrow lifetime segmentation stylesheet selector flexbox viewport z-index tailwind sass scss bootstrap
        jquery nextjs nuxt prisma sqlalchemy hibernate spring laravel symfony dotnet csharp c++ haskell scala elixir
        erlang ocaml clojure perl lua julia matlab fortran cobol assembly wasm cuda opencl ffmpeg terraform ansible
        helm systemd crontab dockercompose kafka rabbitmq celery html http json csv xml api apis cli sdk orm
        dataframe pandas numpy function functions fonction* funktion* funcion* funcao funcoes funzion* functie*
        funkt* функци* klasse klassen metod* метод* klass* класс* parser* tokenizer* iterator* coroutine* goroutine*
        unittests komponente* repositor* merge rebase commit commits branch branches gitignore syntax* linked кода
        кодом коде бага баг баги скрипт* сервер* speicherleck* vazamento* worker workers mutexes goroutines webview
        semaphore* heap stacktraces linting hotfix* codepath* callsite* getter setter getters setters monorepo*
        """,
    1.0: """
        code coding codes class classes method methods variable* parameter* argument* module modules package
        packages import imports script scripts skript* query queries schema* database* datenbank* migration* table*
        column* index indexes cache caching server servers handler* controller* component* hook hooks test tests
        testing spec specs fixture* mock mocks config* timeout* flag flags build builds library libraries dependency
        dependencies array arrays dict dicts hashmap pointer* thread* loop loops exception* error errors erreur*
        fehler* error* errores erro erros errore errori fout fouten ошибк* crash* abstur* typo typed types type
        interface* frontend backend ui button* page sidebar form login logout token* session* request* response*
        deploy* workflow* pipeline* ci lint diff diffs patch patches pr prs memory leak* off-by-one null nil
        undefined validat* valid* pagin* email auth* modul* modelo modele klient client service services container*
        layout algorith* decorator formula backup compiler* compilador* compilateur* prueba* teste testes unitair*
        unitarios terminal bash shell zsh powershell linux navbar modal dropdown tooltip spinner render* rerender*
        upload* download* checkbox scroll* click* layout* responsive resize* footer header hangs freez* flicker*
        broken breaks crashes fails failing instance* object objects property properties attribute* constructor*
        inherit* namespace* recursion recursive iterate sort sorting map tuple buffer* socket* stream* proxy* byte
        bytes hex encoding utf-8 unicode timestamp* timezone git github gitlab postgres mysql sqlite redis mongo*
        fuite fuga memoria speicher endpunkt* schnittstelle* абстракц* переменн* логик* ветк* repair* profiler
        тест* запрос* классе ссылк* stub stubs webhook* cron regexes app component admin view
        """,
}
"""Things that programs are made of."""


MAKE: Mapping[float, str] = {
    1.5: """
        implement* implementier* implementa* implementeer* implemente* refaktor* refactori* fix fixes fixing beheb*
        korrigier* corrig* correg* arregl* herstel* repareer* repariere исправ* почини* пофикси* optimi* vectoriz*
        port debug* shrink speed dedupe dedup handle rename umbenenn* wire bump swap parse parses extract mock drop
        convert*
        """,
    1.0: """
        add adds adding create creates write rewrite generate change replace remove delete make update upgrade
        migrate build move modify split clean resolve solve wrap support need schreib* erstell* fuge fug hinzu*
        ander* ersetz* entfern* losche konvertier* programmier* bau* ecris ecrire ajoute* cree creer remplace*
        supprime* converti* genere* modifi* reecri* escrib* crea crear anade anadir agrega* cambia* reemplaza*
        elimina* convierte genera* escrev* crie criar adicion* mude altere substitua remova converta gere scriv*
        aggiung* cambia sostituisc* rimuov* converti genera modifica* schrijf* voeg toevoeg* maak verander* vervang*
        verwijder* los pas converteer* напиши* написать добав* созда* измени* замени* удали* переименуй* сделай*
        перепиши*
        """,
}
"""Verbs that make or change something."""


RUN: Mapping[float, str] = {
    2.5: """
        rerun* re-run orchestrat* autonom* crawl* scrap* triage* bisect* spawn* delegat* delegier* subagent*
        provision* backfill* dispatch* smoke-test* failover multi-step end-to-end playwright selenium puppeteer
        cherry-pick rollout smoke revert* automat* iterat*
        erneut
        """,
    1.5: """
        run runs running execut* ejecut* esegu* fuhre ausfuhr* lance lancer lancez draai* запусти* запуска* выполни*
        deploy* despli* deplo* разверни* verify verifi* verif* uberpruf* prufe pruf* controleer* проверь* confirm
        install* installier* установи* start* starte starten demarre* avvia* clone* klon* monitor* watch uberwach*
        reproduc* reprodu* воспроизвед* rolle rollback откати* browse* durchsuch* recherche* fetch download*
        herunterlad* curl ssh push commit committe screenshot* retry profile measure re-measure richte einricht*
        inicia* instala* agent agents agente agenten agenti агент* parallel* параллельн* pull rebase bump
        """,
    1.0: """
        fix fixes fixing behebe korrigiere corrige* corrija correggi arregla repareer исправ* open check report
        collect compile find search investigate tag build builds test push log close label transform load upgrade
        aktualisier* update updating commit patch optimi* create skip send schedule book invite gather sort file move
        archive notify email post migrate switch wait restart stop restore backup enable fill visit order scan list
        versende* verschick* sende buche lade sichere spiele tausche envoie envoyer reserve recupere collecte envia
        enviar reserva recoge recorre recopila actualiza coleta baixe spedisci prenota raccogli verstuur boek verzamel
        отправь собери обнови скачай забронируй upload* upload
        """,
}
"""Verbs that do something in the world, and what is used for it."""


REASON: Mapping[float, str] = {
    3.0: """
        compare* vergleich* compara comparar comparez vergelijk* confronta* confrontare сравни* сравнен* analy*
        analis* analiz* analisa* argumente* argumenta* contrast* contraste* tradeoffs logically puzzle* contradict*
        fallac* viab* анализ* проанализ* evaluat* evalua* evaluez bewert* beurteil* valuta valutare beoordeel*
        оцени* prove proof proofs beweis* demontre* demostra* demuestra* dimostra* bewijs* докажи* доказ* derive
        derivation* herleit* justif* begrund* onderbouw* обосн* critique* kritisier* critica criticar trade-off*
        tradeoff* weigh abwag* wage argue* rationale rational* irrational* hypothes* implicat* infer infers
        inference assess* einschatz* recommend* empfehl* empfiehl* recomiend* recomend* raccomand* aanbeveel*
        aanrad* рекоменд* strateg* стратег* root-cause prioriti* prioris* rank ranking ranks interpret* criteri*
        pros argument* probabilit* wahrscheinlich* theorem* teorema* теорем* invariant* feasib* downside* drawback*
        paradox* ambigu* consequenc* guarantee* semantic* soundness limitation* implicit* counterexample* bottleneck*
        konsequenz* garanti* weakness* strength* schwach* starken faiblesse* debilidad* fortaleza* debolezz* zwakke
        слабост* следств* hidden overlooked regret
        """,
    2.0: """
        reason* raison* razona* raciocinio ragiona* рассужд* why warum pourquoi waarom perche почему porque
        architect* архитектур* decide decision* entscheid* choix elegir scegli* kies* выбор* выбрать risk* risik*
        risque* riesgo* risco* rischi* риск* plan planning estimat* schatz* assumption* annahm* assum* should
        option* optie* alternativ* vorteil* nachteil* avantage* inconvenient* ventaja* desventaja* vantage*
        desvantage* vantaggi* svantaggi* voordel* nadel* преимущ* недостат* think consider* constraint* opinion
        explain* erklar* cons advantage* disadvantage* cause* prufe objection* flaw* threat* better worse best
        sinnvoll* mejor besser meilleur* beter лучше consensus linearizab* deadlock* solve equation* integral*
        derivative* convergen* matrix economic* financial pricing market*
        """,
    1.0: """
        design* entwurf* vor- if likely would could effect* impact* factor* measure predict* whether which scalab*
        given suppose scenario* latency budget cost costs priority roadmap hire vendor* versus vs approach* propos*
        judge worth rely safer
        """,
}
"""Words of weighing, proving and deciding."""


CREATE: Mapping[float, str] = {
    4.0: """
        poem* poetry gedicht* poeme* poema* poesi* стих* haiku* haikus limerick* sonnet* lyric* lyrics song
        liedtext* chanson cancion canzone lied story stories geschichte gutenachtgeschichte* histoire* cuento*
        historia historias storia storie verhaal* sprookj* сказк* рассказ* истори* novel* roman romanzo novela
        novella fable fairy fairytale slogan* esloga* слоган* tagline* motto jingle* headline* blog* blogpost*
        artikel essay* newsletter* editorial screenplay* dialogue* dialog monologue* toast speech rede discours
        discurso discorso toespraak речь linkedin tweet* instagram tiktok caption* press-release copywriting copy
        brand* storytelling playful evocative engaging funny witty humor* humour* nostalgi* heartfelt brainstorm*
        invitation* einladung* uitnodiging* приглашен* pun puns joke jokes witz* blague* chiste* riddle* ballad* rap
        backstory worldbuilding metaphor* ad advert* werbetext* anzeige* campaign* kampagne* creative* kreativ*
        bedtime birthday wedding farewell eulogy anthem satire parody sitcom comic fanfic* persona vibe smile*
        mascot* plot plots twist* ballade* reim* rime* rima* rijm* riff* villain* protagonist* maskottchen mascotte
        mascota* werbespruch* werbeslogan* spot jingles cheesy witzig* lustig* drole* gracios* divertid* buffo buffa
        divertent* grappig* смешн* забавн* shanty lullaby wiegenlied* berceuse nana ninnananna toasts greeting* gruss*
        delight* release-notes hochzeit* geburtstag* anniversaire cumpleanos aniversario compleanno verjaardag*
        """,
    2.0: """
        tone tonfall ton tono toon тон voice warm warmer friendly locker* leger catchy fun rewrite verfass* redige*
        redact* redatta redigir invent* erfind* imagine* inventa* bedenk* придум* сочини* raconte* cuenta racconta*
        vertel* character* scene scenes chapter* kapitel thriller cyberpunk fantasy dragon* describe* description
        letter brief post posts thread names naming name email apology announce* announc* launch audience script
        video words customers humorous paragraph style exciting emotional vivid prose fiction children's kinder*
        enfants ninos bambini kinderen детей oda ode sincere lively subject buzzword* confident idea ideas ideen idee
        idees idea* titel titres titulos titoli titre titulo titolo titles title podcast lettre carta lettera brief
        liebesbrief* amour amor amore love bio biography about-page portrait pitch teaser blurb greet wish wishes mood
        kindly charming cozy cosy whimsical dramatic
        """,
}
"""What is written to please."""


EASY: Mapping[float, str] = {
    4.0: """
        capital capitale hauptstadt hoofdstad столица capitol translate* ubersetz* tradui* traduc* traduz* tradur*
        vertaal* переведи* перевод* spell spelled synonym* antonym* sinonimo* синоним* hello hallo hi hey bonjour
        hola ola ciao привет thanks thank danke merci gracias obrigad* grazie bedankt спасибо uppercase lowercase
        acronym abbreviation typo typos tippfehler tldr fahrenheit celsius define definition kilomet* inches pounds
        grammar alphabet* timezone
        """,
    2.0: """
        summar* zusammenfass* fasse resume resumir resumez riassum* samenvat* резюме кратко count say reply convert
        when who wer quien chi wie кто когда list ls version default date day days hours words letters sentence
        sentences satz phrase frase zin предложение one-liner correct rechtschreib* city population meaning means
        mean abbreviate punctuation reverse backwards bigger prime envelope signature number positive wo where donde
        dove onde waar где combien cuantos quantos quanti hoeveel сколько much many far
        """,
}
"""What needs no thought."""


HARD: Mapping[float, str] = {
    2.0: """
        deadlock* race races concurren* distributed consensus linearizab* lock-free lockfree zero-downtime
        cryptograph* compiler* kernel prove proof formal* security threat* vulnerab* multi-tenant microservice*
        monolith migrat* architect* архитектур* scal* optimi* performance legacy rewrite beweis* demontre*
        demuestra* dimostra* докажи*
        """,
    1.0: """
        memory leak* flaky intermittent* refactor* parallel* async* cache* consisten* transaction* rollback
        invariant* reproduc* bisect* end-to-end autonom* orchestrat* every all each constraint* trade-off* risk*
        """,
}
"""What makes a task harder than its length says."""


CJK: tuple[tuple[str, float, str], ...] = (
    (
        "tech",
        2.0,
        """
        函数 接口 代码 单元测试 重构 指针 编译 数据库 脚本 类型 变量 前端 后端 报错 関数 バグ コード
        ユニットテスト リファクタ コンパイル 型エラー クラス ポインタ エラー
        """,
    ),
    (
        "tech",
        1.0,
        """
        测试 错误 空指针 组件 模块 逻辑 参数 テスト メソッド スクリプト ファイル 変数
        """,
    ),
    (
        "make",
        1.5,
        """
        修复 实现 重构 优化 加上 添加 删除 替换 写一个 修正 直して 実装 追加 変更 削除
        """,
    ),
    (
        "run",
        2.5,
        """
        运行 执行 部署 验证 安装 启动 网上 搜索 爬取 并行 実行 デプロイ 検証 ウェブ 調べ 起動 自動
        """,
    ),
    (
        "loop",
        3.0,
        """
        直到 反复 逐个 全部通过 すべて通るまで するまで 繰り返 一つずつ
        """,
    ),
    (
        "reason",
        3.0,
        """
        比较 分析 证明 评估 权衡 优缺点 建议 为什么 风险 推荐 判断 架构 比較 証明 評価 トレードオフ 理由
        なぜ リスク 推薦 メリット 設計
        """,
    ),
    (
        "create",
        4.0,
        """
        诗 故事 口号 文案 小说 广告语 歌词 俳句 物語 詩 キャッチコピー スローガン 小説 歌詞 ブログ 博客
        """,
    ),
    (
        "easy",
        4.0,
        """
        首都 翻译 你好 谢谢 翻訳 こんにちは ありがとう 是什么意思 とは何 多少 何時
        """,
    ),
    (
        "easy",
        2.0,
        """
        总结 概括 要約 哪里 どこ 什么 何ですか いつ 谁 誰
        """,
    ),
)
"""Words of scripts without spaces: kind, weight, words."""


PHRASES: tuple[tuple[str, float, str], ...] = (
    (
        "loop",
        3.5,
        """
        until | till | repeat | loop | one by one | one at a time | one after another | after each
        | after every | rerun | keep on | bis alles | bis alle | nacheinander | nach jeder | jusqu a ce que
        | jusqu a | un par un | hasta que | uno por uno | ate que | ate tudo | um por um | finche
        | uno alla volta | totdat | een voor een | пока не | пока все | по одному | for each | go through
        | each of them | each time | every time | end to end | retry on failure | if anything fails
        | falls etwas | and then | then | danach | anschliessend | ensuite | puis | luego | despues | dopo | daarna
        | depois | затем | потом | when done | once done | if it fails | si quelque chose echoue | wenn es fehlschlagt
        """,
    ),
    (
        "web",
        5.0,
        """
        the web | on the web | sur le web | im web | im internet | das web | das internet | en internet
        | na web | na internet | sul web | in internet | su internet | op het web | op internet | в интернете
        | online prices | browse their | the browser | open the browser
        """,
    ),
    (
        "agentic",
        6.0,
        """
        make the tests pass | make all tests pass | tests pass | suite passes | fix and verify
        | work autonomously | run the tests | run the test suite | run all tests | run all test
        | run the whole suite | open a pr | open prs | open pull requests | open a draft pull request
        | in parallel | fuhre die tests | lance les tests | ejecuta las pruebas | execute os testes
        | esegui i test | draai de tests | запусти тесты | from scratch | clean venv | force push
        | step by step on its own | wait until | ask when | ask me when | one pr per | a pr per | per service |
        per repo
        | (?:every|each|all|all the|all our|all open) (?:service|repo|repositor|project|issue|ticket|branch|page|mail
        |inbox|folder|customer|server|host|site|package)\\w{0,5} | alle (?:repositor|dienste|projekte|server)\\w{0,4}
        | tous les (?:depots|services|projets|serveurs) | todos los (?:repositorios|servicios|proyectos|servidores)
        | todos os (?:repositorios|servicos|projetos|servidores) | tutti i (?:repository|servizi|progetti|server)
        | je einen pull request | en cada uno | dans chacun | in ciascuno | em cada um | report back | report to me
        | and report | then report | my inbox | my calendar | the meeting room
        """,
    ),
    (
        "reason",
        4.0,
        """
        pros and cons | pro e contro | pro und contra | pros e contras | pros y contras | pros et cons
        | trade offs? | root cause | second opinion | think hard | think carefully | what if
        | what would happen | which of | is it better | advantages and disadvantages | pour et le contre
        | vor und nachteile | second order | both sides | pick one | recommend one | show the derivation
        | how should we | should we | should i | would you | what assumptions | why might | walk through
        | change your mind | explain your | explain each step | explique o | is there any | how much does each
        | how many .{1,40} work | when does the | failure modes? | edge cases? of | what would have | what must
        be true
        | to be true | what could go wrong | what are the
        (?:risks|limits|limitations|consequences|implications|failure)
        | under what conditions | is it safe to | does it (?:follow|hold) | worst case | in theory | in principle
        | was spricht | was ware wenn | que se passe t il si | que pasaria si | cosa succede se | wat als
        """,
    ),
    (
        "easy",
        5.0,
        """
        what is the | whats the | what s the | was ist | wat is | qu est ce que | cual es | qual e | quelle est
        | quel est | stand for | how do you spell | how many | how far | how old | how tall | one sentence
        | einem satz | une phrase | una frase | een zin | in french | in german | in spanish | into english
        | time zone | does .{1,40} mean | by default | current version | current branch | who wrote | when was
        | when did | show me the | tell me the | which is bigger | is this | reply with
        | errore di battitura | errori di battitura | faute de frappe | coquille | error tipografico | erro de
        digitacao
        | schreibfehler | tikfout | опечатк\\w{1,4}
        | file in this | files in | what day | open question | which port
        """,
    ),
    (
        "tech",
        3.0,
        """
        pull request | stack trace | unit tests? | type hints? | off by one | merge conflicts? | null pointer
        | memory leaks? | github actions? | one liner | dead code | test coverage | race condition
        | use ?effect | rate limiter? | data migration | model change | dark mode toggle | dry run
        | what does the function | idiomatic way | peer dep
        """,
    ),
    (
        "frontier",
        1.0,
        """
        frontier required | safety critical | mission critical | formal proof | formally verif\\w{1,10}
        | life critical
        """,
    ),
)
"""Kind, weight, alternatives; they stand between word boundaries of the folded task, punctuation being spaces."""
